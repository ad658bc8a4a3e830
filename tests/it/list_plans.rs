//! Lists and searches walk an index, and stop: none reads a table from end to end, however many rows there are.

use oncehook::{
    domain::{DeliveryState, ReceiptId},
    operate::ReceiptQuery,
    store::{
        delivery_search::{DeliveryCriteria, explain_search},
        receipt_search::{ReceiptCriteria, explained},
        walk::{IdRange, WALKED_MAX},
    },
};

use crate::{
    receipt_search::walk,
    support::{bench::Bench, desk::desk_of, many::fill},
};

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn receipts() -> Vec<(ReceiptCriteria, &'static str)> {
    let none = ReceiptCriteria::default;
    let times = ReceiptCriteria {
        since: Some("2026-12-02T10:00:00Z".parse().unwrap()),
        until: Some("2026-12-02T11:00:00Z".parse().unwrap()),
        ..none()
    };
    vec![
        (none(), "receipts_pkey"),
        (times.clone(), "receipts_pkey"),
        (ReceiptCriteria { contains: text("zzz"), ..none() }, "receipts_pkey"),
        (ReceiptCriteria { unmatched: Some(true), ..none() }, "receipts_pkey"),
        (
            ReceiptCriteria {
                range: IdRange::default().and(ReceiptId::new().uuid(), ReceiptId::new().uuid()),
                ..none()
            },
            "receipts_pkey",
        ),
        (ReceiptCriteria { source: text("rare"), ..none() }, "receipts_by_source"),
        (ReceiptCriteria { source: text("github"), ..times }, "receipts_by_source|receipts_pkey"),
        (ReceiptCriteria { event_type: text("pull_request"), ..none() }, "receipts_by_type|receipts_pkey"),
        (
            ReceiptCriteria { event_type: text("push"), source: text("stripe"), ..none() },
            "receipts_by_type|receipts_pkey",
        ),
        (ReceiptCriteria { delivery_id: text("evt_5"), ..none() }, "receipts_identity"),
        (ReceiptCriteria { ordering_key: text("key 5"), ..none() }, "receipts_by_key"),
        (ReceiptCriteria { flag: text("suspected"), ..none() }, "receipts_flagged"),
        (ReceiptCriteria { held: Some(true), ..none() }, "receipts_held"),
        (ReceiptCriteria { state: Some(DeliveryState::Dead), ..none() }, "deliveries_by_state|deliveries_dead"),
        (
            ReceiptCriteria { state: Some(DeliveryState::Retrying), source: text("rare"), ..none() },
            "deliveries_by_state|deliveries_dead",
        ),
        (ReceiptCriteria { route: text("rare-route"), ..none() }, "deliveries_claim"),
        (ReceiptCriteria { destination: text("archive"), ..none() }, "deliveries_by_destination"),
    ]
}

fn deliveries() -> Vec<(DeliveryCriteria, &'static str)> {
    let none = DeliveryCriteria::default;
    let of = |receipt| DeliveryCriteria { receipt, ..none() };
    vec![
        (none(), "deliveries_of_receipt"),
        (DeliveryCriteria { states: vec![DeliveryState::Succeeded], ..none() }, "deliveries_of_receipt"),
        (DeliveryCriteria { states: vec![DeliveryState::Dead], ..none() }, "deliveries_by_state|deliveries_dead"),
        (
            DeliveryCriteria { states: vec![DeliveryState::Waiting], route: text("deploy"), ..none() },
            "deliveries_by_state|deliveries_dead",
        ),
        (DeliveryCriteria { route: text("rare-route"), ..none() }, "deliveries_claim"),
        (DeliveryCriteria { route: text("deploy"), ..none() }, "deliveries_claim|deliveries_of_receipt"),
        (DeliveryCriteria { destination: text("archive"), ..none() }, "deliveries_by_destination"),
        (DeliveryCriteria { ordering_key: text("key 5"), ..none() }, "deliveries_by_key"),
        (DeliveryCriteria { group: text("0123456789abcdef"), ..none() }, "deliveries_dead"),
        (
            DeliveryCriteria { error: text("zzz"), states: vec![DeliveryState::Dead], ..none() },
            "deliveries_by_state|deliveries_dead",
        ),
        // Not yet: the deliveries of a rare source. At this size the planner reads the receipts in parallel instead.
        (
            of(ReceiptCriteria { event_type: text("pull_request.closed"), ..ReceiptCriteria::default() }),
            "receipts_by_type",
        ),
    ]
}

fn assert_walks(plan: &str, index: &str, what: &str) {
    // Of two that are as good the planner takes one or the other, by what it sampled.
    assert!(index.split('|').any(|index| plan.contains(index)), "{what} does not walk {index}:\n{plan}");
    assert!(!plan.contains("Seq Scan"), "{what} reads a table:\n{plan}");
}

#[tokio::test]
async fn each_list_walks_its_index_at_100_000_receipts() {
    let bench = Bench::new().await;
    let mut conn = bench.pool().acquire().await.unwrap();
    fill(&mut conn, 100_000).await;
    for (criteria, index) in receipts() {
        assert_walks(&explained(&mut conn, &criteria, 51).await.unwrap(), index, &format!("{criteria:?}"));
    }
    for (criteria, index) in deliveries() {
        assert_walks(&explain_search(&mut conn, &criteria, 51).await.unwrap(), index, &format!("{criteria:?}"));
    }

    // What finds little goes on from page to page, and to the end.
    let desk = desk_of(&bench.ctx);
    let lonely = "insert into oncehook.receipts (id, source, delivery_id, event_type, received_at, body_digest, normalised_digest,
                      body_bytes)
                  values ('00000000-0000-0000-0000-000000000001', 'github', 'an old id', 'push', now(), sha256(''), sha256(''), 0)";
    bench.run_sql(lonely).await;
    let pages = 100_000 / usize::try_from(WALKED_MAX).unwrap() + 1;
    for query in [
        ReceiptQuery { unmatched: Some(true), ..ReceiptQuery::default() },
        ReceiptQuery { q: text("old id"), ..ReceiptQuery::default() },
    ] {
        assert_eq!(walk(&desk, &query, 50).await, (vec!["rcp_00000000000000000000000001".parse().unwrap()], pages));
    }
    let beginning = ReceiptQuery { q: text("an old"), ..ReceiptQuery::default() };
    assert_eq!(walk(&desk, &beginning, 50).await.1, 1, "what begins so is found at once");
}
