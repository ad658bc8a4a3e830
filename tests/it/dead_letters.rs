//! Dead letters stand together with those that died of the same.

use oncehook::operate::DeliveryQuery;

use crate::support::{bench::Bench, desk::desk_of, many::fill};

#[tokio::test]
async fn errors_that_differ_in_numbers_ids_and_quotes_are_one_group_and_other_statuses_are_another() {
    let bench = Bench::new().await;
    fill(&mut bench.pool().acquire().await.unwrap(), 1_000).await;
    let desk = desk_of(&bench.ctx);
    let groups = desk.dead_letter_groups(&DeliveryQuery::default()).await.unwrap();
    let counts: Vec<_> = groups.iter().map(|group| (&group.error[..16], group.count)).collect();
    assert_eq!(counts, [("was answered 500", 10), ("was answered 503", 10)]);
    for group in groups {
        assert!(group.first_at < group.last_at && group.route == "deploy" && group.destination == "deployer");
        let of_it = DeliveryQuery { group: Some(group.group.clone()), ..DeliveryQuery::default() };
        let page = desk.deliveries(&of_it).await.unwrap();
        assert_eq!(page.items.len(), 10);
        assert_eq!(page.items[0].last_error.as_ref(), Some(&group.error), "the youngest's error stands for it");
    }
    let of_source = DeliveryQuery { source: Some("rare".to_owned()), ..DeliveryQuery::default() };
    let groups = desk.dead_letter_groups(&of_source).await.unwrap();
    assert_eq!(groups.iter().map(|group| group.count).collect::<Vec<_>>(), [10]);
}

#[tokio::test]
async fn an_error_loses_what_differs_and_keeps_what_tells() {
    let bench = Bench::new().await;
    for (error, shape) in [
        ("connection to 10.0.0.7:8080 refused after 12 ms", "connection to #.#.#.#:# refused after # ms"),
        ("was answered 503 Service Unavailable", "was answered 503 Service Unavailable"),
        ("no row 5e1c0a52-7a2f-4b1e-9c1a-0d9f8e7c6b5a for rcp_01ke6vafet00000000000000r2", "no row <id> for <id>"),
        ("sha 6dcb09b5b57875f334f61aebed695e2e4193db5e at 0xdeadbeef", "sha <hex> at <hex>"),
        (r#"column "a b" of 'x y' isn't there, `z`"#, r#"column "…" of "…" isn't there, "…""#),
        ("", ""),
    ] {
        let found: String =
            sqlx::query_scalar("select oncehook.error_shape($1)").bind(error).fetch_one(bench.pool()).await.unwrap();
        assert_eq!(found, shape);
    }
}
