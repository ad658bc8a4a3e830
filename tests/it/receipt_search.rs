//! Receipts are found by whatever an operator knows of them, each once and in order, and no text or payload breaks a search.

use oncehook::{
    domain::{DeliveryState, ReceiptId},
    operate::{Desk, Found, OperateError, ReceiptQuery},
};
use proptest::prelude::*;
use sqlx::AssertSqlSafe;

use crate::support::{bench::Bench, desk::desk_of, many::fill};

/// All pages of a query, by pages of `limit`; and how many pages there were.
pub async fn walk(desk: &Desk, query: &ReceiptQuery, limit: u32) -> (Vec<ReceiptId>, usize) {
    let mut query = ReceiptQuery { limit: Some(limit), ..query.clone() };
    let (mut ids, mut pages) = (Vec::new(), 0);
    loop {
        let page = desk.receipts(&query).await.unwrap();
        assert!(page.items.len() <= limit as usize);
        ids.extend(page.items.iter().map(|line| line.id));
        pages += 1;
        match page.next {
            None => return (ids, pages),
            next => query.cursor = next,
        }
    }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

async fn expected(bench: &Bench, condition: &str) -> Vec<ReceiptId> {
    let sql = format!("select r.id from oncehook.receipts r where {condition} order by r.id desc");
    let ids: Vec<uuid::Uuid> = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(bench.pool()).await.unwrap();
    ids.into_iter().map(ReceiptId::from).collect()
}

const HAS: &str = "exists (select from oncehook.deliveries d where d.receipt_id = r.id and ";

/// Each filter, and what it means in SQL.
fn filters() -> Vec<(ReceiptQuery, String)> {
    let none = ReceiptQuery::default;
    let time = |text: &str| Some(text.parse().unwrap());
    vec![
        (none(), "true".to_owned()),
        (ReceiptQuery { source: text("rare"), ..none() }, "source = 'rare'".to_owned()),
        (ReceiptQuery { event_type: text("pull_request"), ..none() }, "event_type like 'pull\\_request.%'".to_owned()),
        (
            ReceiptQuery { event_type: text("push"), source: text("stripe"), ..none() },
            "event_type = 'push' and source = 'stripe'".to_owned(),
        ),
        (ReceiptQuery { delivery_id: text("evt_77"), ..none() }, "delivery_id = 'evt_77'".to_owned()),
        (ReceiptQuery { ordering_key: text("key 12"), ..none() }, "ordering_key = 'key 12'".to_owned()),
        (ReceiptQuery { state: Some(DeliveryState::Dead), ..none() }, format!("{HAS} state = 'dead')")),
        (ReceiptQuery { state: Some(DeliveryState::Succeeded), ..none() }, format!("{HAS} state = 'succeeded')")),
        (ReceiptQuery { state: Some(DeliveryState::Dead), route: text("audit"), ..none() }, "false".to_owned()),
        (ReceiptQuery { route: text("rare-route"), ..none() }, format!("{HAS} route = 'rare-route')")),
        (
            ReceiptQuery { destination: text("archive"), source: text("rare"), ..none() },
            format!("source = 'rare' and {HAS} destination = 'archive')"),
        ),
        (
            ReceiptQuery { since: time("2026-12-02T23:50:00Z"), until: time("2026-12-02T23:55:00Z"), ..none() },
            "received_at >= '2026-12-02T23:50:00Z' and received_at < '2026-12-02T23:55:00Z'".to_owned(),
        ),
        (ReceiptQuery { flag: text("suspected"), ..none() }, "'suspected_replay' = any(flags)".to_owned()),
        (ReceiptQuery { held: Some(true), ..none() }, "false".to_owned()),
        (ReceiptQuery { held: Some(false), source: text("rare"), ..none() }, "source = 'rare'".to_owned()),
        (ReceiptQuery { unmatched: Some(true), ..none() }, "false".to_owned()),
        (ReceiptQuery { q: text("evt_15"), ..none() }, "delivery_id like 'evt\\_15%'".to_owned()),
        (ReceiptQuery { q: text("t_15"), ..none() }, "delivery_id like '%t\\_15%'".to_owned()),
        (ReceiptQuery { q: text("evt_"), ..none() }, "true".to_owned()),
        (
            ReceiptQuery { path: text("repository.full_name"), value: text("octo/repo-42"), ..none() },
            "substr(delivery_id, 5)::int % 1000 = 42".to_owned(),
        ),
        (
            ReceiptQuery { path: text("/n"), value: text("42"), source: text("stripe"), ..none() },
            "delivery_id = 'evt_42'".to_owned(),
        ),
    ]
}

#[tokio::test]
async fn each_filter_finds_what_it_says_newest_first() {
    let bench = Bench::new().await;
    fill(&mut bench.pool().acquire().await.unwrap(), 2_500).await;
    let desk = desk_of(&bench.ctx);
    for (query, condition) in filters() {
        let right = expected(&bench, &condition).await;
        for limit in [7, 500] {
            assert_eq!(walk(&desk, &query, limit).await.0, right, "{query:?} by {limit}");
        }
    }
}

#[tokio::test]
async fn parts_of_our_own_ids_are_found_wherever_they_are() {
    let bench = Bench::new().await;
    fill(&mut bench.pool().acquire().await.unwrap(), 50).await;
    let desk = desk_of(&bench.ctx);
    let line = desk.receipts(&ReceiptQuery::default()).await.unwrap().items.remove(20);
    let story = desk.receipt(line.id).await.unwrap();
    let delivery = story.deliveries[0].id.to_string();
    for part in [
        &line.id.to_string(),
        &line.id.to_string()[..22],
        &delivery,
        &delivery[..24],
        &delivery.to_uppercase().replace("DLV", "dlv"),
    ] {
        let query = ReceiptQuery { q: Some(format!(" {part} ")), ..ReceiptQuery::default() };
        assert_eq!(walk(&desk, &query, 50).await.0, [line.id], "{part}");
        assert!(matches!(desk.look_up(&delivery, None).await.unwrap(), Found::Receipt(found) if found == line.id));
    }
    assert!(matches!(desk.look_up(&line.delivery_id, None).await.unwrap(), Found::Receipt(found) if found == line.id));
    assert_eq!(desk.look_up("evt_none", None).await.unwrap(), Found::Nothing);
    let one_each = "select distinct on (source) id from oncehook.receipts where source <> 'rare' order by source, id";
    bench.run_sql(&format!("update oncehook.receipts set delivery_id = 'evt_same' where id in ({one_each})")).await;
    let Found::Several(lines) = desk.look_up("evt_same", None).await.unwrap() else { panic!("two sources have it") };
    assert_eq!(lines.len(), 2);
    assert!(matches!(desk.look_up("evt_same", Some("stripe")).await.unwrap(), Found::Receipt(_)));
}

#[tokio::test]
async fn no_text_breaks_a_search() {
    let bench = Bench::new().await;
    fill(&mut bench.pool().acquire().await.unwrap(), 20).await;
    let desk = desk_of(&bench.ctx);
    for hostile in [
        "%",
        "_",
        "\\",
        "'",
        "\"; drop table x; --",
        "é",
        "\u{1f980}",
        "\u{10ffff}",
        "~",
        "rcp_",
        "rcp_%",
        "dlv_",
        "att_",
        "\u{1b}[2J",
        " ",
    ] {
        let all = ReceiptQuery {
            q: text(hostile),
            source: text(hostile),
            event_type: text(hostile),
            flag: text(hostile),
            ..ReceiptQuery::default()
        };
        assert_eq!(walk(&desk, &all, 10).await.0, [], "{hostile}");
        let part = ReceiptQuery { q: text(hostile), ..ReceiptQuery::default() };
        let found = walk(&desk, &part, 10).await.0.len();
        let finds_all = ["_", "rcp_", "dlv_", " "].contains(&hostile);
        assert_eq!(found, if finds_all { 20 } else { 0 }, "{hostile:?}");
        desk.look_up(hostile, Some(hostile)).await.unwrap();
    }
    let long = "x".repeat(5_000);
    for bad in [
        ReceiptQuery { q: text("a\0"), ..ReceiptQuery::default() },
        ReceiptQuery { source: Some(long), ..ReceiptQuery::default() },
        ReceiptQuery { limit: Some(0), ..ReceiptQuery::default() },
        ReceiptQuery { limit: Some(501), ..ReceiptQuery::default() },
        ReceiptQuery { cursor: text("nonsense"), ..ReceiptQuery::default() },
        ReceiptQuery { path: text("/~"), value: text("x"), ..ReceiptQuery::default() },
        ReceiptQuery { path: text("/a"), ..ReceiptQuery::default() },
        ReceiptQuery { value: text("x"), ..ReceiptQuery::default() },
    ] {
        assert!(matches!(desk.receipts(&bad).await, Err(OperateError::Invalid { .. })), "{bad:?}");
    }
}

/// B147: one bad payload must not abort a search, nor hide the good ones.
#[tokio::test]
async fn payloads_that_are_no_json_do_not_break_a_search_in_payloads() {
    let bench = Bench::new().await;
    fill(&mut bench.pool().acquire().await.unwrap(), 60).await;
    let change = |n: usize, headers: &str, body: &str| {
        format!(
            "update oncehook.payloads p set headers = '{headers}', body = {body} from oncehook.receipts r
             where r.id = p.receipt_id and r.delivery_id = 'evt_{n}'"
        )
    };
    let form = "content-type: application/x-www-form-urlencoded";
    for sql in [
        change(1, "", r"'\xff00fe'"),
        change(2, "", "''"),
        change(4, "", "convert_to(repeat('[', 100000), 'utf8')"),
        change(5, "", r#"convert_to('{"a":{"b":"x y"}', 'utf8')"#),
        change(7, form, "convert_to('payload=%7B%22a%22%3A%7B%22b%22%3A%22x+y%22%7D%7D', 'utf8')"),
        change(8, "", r#"convert_to('{"a":{"b":"x\u0020y"}}', 'utf8')"#),
        change(10, "", r#"convert_to('{"a":{"b":["x y"]}, "b":"x y"}', 'utf8')"#),
        "delete from oncehook.payloads p using oncehook.receipts r where r.id = p.receipt_id and r.delivery_id = 'evt_11'".to_owned(),
    ] {
        assert_eq!(bench.run_sql(&sql).await, 1);
    }
    let desk = desk_of(&bench.ctx);
    let query = ReceiptQuery { path: text("a.b"), value: text("x y"), ..ReceiptQuery::default() };
    // Of these none is of GitHub's source in the configuration of this bench, which has none: the form is told by its type.
    assert_eq!(walk(&desk, &query, 1).await.0, expected(&bench, "delivery_id in ('evt_7', 'evt_8')").await);
    let gone = expected(&bench, "delivery_id = 'evt_11'").await[0];
    assert!(matches!(desk.payload(gone).await, Err(OperateError::Refused { .. })));
    assert!(matches!(desk.payload(ReceiptId::new()).await, Err(OperateError::NotFound { .. })));
    assert!(matches!(desk.receipt(ReceiptId::new()).await, Err(OperateError::NotFound { .. })));
}

/// Walks a list while receipts come in, and gives what was walked.
async fn walk_while_more_come_in(limits: &[u32], query: &ReceiptQuery) {
    let bench = Bench::new().await;
    fill(&mut bench.pool().acquire().await.unwrap(), 90).await;
    let desk = desk_of(&bench.ctx);
    let before = walk(&desk, query, 500).await.0;
    let mut query = query.clone();
    let mut walked = Vec::new();
    for limit in limits.iter().cycle() {
        query.limit = Some(*limit);
        let page = desk.receipts(&query).await.unwrap();
        walked.extend(page.items.iter().map(|line| line.id));
        bench.record(Some("new")).await;
        let Some(next) = page.next else { break };
        query.cursor = Some(next);
    }
    assert_eq!(walked, before);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]
    #[test]
    fn walking_gives_each_receipt_once_and_in_order_also_while_new_ones_come_in(
        limits in prop::collection::vec(1_u32..40, 1..4), which in 0_usize..4
    ) {
        let query = match which {
            0 => ReceiptQuery::default(),
            1 => ReceiptQuery { source: text("github"), ..ReceiptQuery::default() },
            2 => ReceiptQuery { event_type: text("pull_request"), ..ReceiptQuery::default() },
            _ => ReceiptQuery { q: text("t_1"), ..ReceiptQuery::default() },
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(walk_while_more_come_in(&limits, &query));
    }
}
