//! Deliveries, attempts and lanes are found by whatever an operator knows of them, each once and in order.

use oncehook::{
    domain::{AttemptId, DeliveryRef, DeliveryState},
    operate::{DeliveryQuery, Desk, LaneQuery, OperateError},
};
use sqlx::AssertSqlSafe;

use crate::support::{bench::Bench, desk::desk_of, many::fill, script::Step};

pub async fn walk(desk: &Desk, query: &DeliveryQuery, limit: u32) -> Vec<DeliveryRef> {
    let mut query = DeliveryQuery { limit: Some(limit), ..query.clone() };
    let mut ids = Vec::new();
    loop {
        let page = desk.deliveries(&query).await.unwrap();
        assert!(page.items.len() <= limit as usize);
        ids.extend(page.items.iter().map(|line| line.id));
        match page.next {
            None => return ids,
            next => query.cursor = next,
        }
    }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

async fn expected(bench: &Bench, condition: &str) -> Vec<DeliveryRef> {
    let sql = format!(
        "select d.id from oncehook.deliveries d join oncehook.receipts r on r.id = d.receipt_id
         where {condition} order by r.id desc, d.id desc"
    );
    let ids: Vec<uuid::Uuid> = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(bench.pool()).await.unwrap();
    ids.into_iter().map(DeliveryRef::from).collect()
}

#[tokio::test]
async fn each_filter_of_deliveries_finds_what_it_says() {
    let bench = Bench::new().await;
    fill(&mut bench.pool().acquire().await.unwrap(), 1_200).await;
    let desk = desk_of(&bench.ctx);
    let none = DeliveryQuery::default;
    let group = desk.dead_letter_groups(&none()).await.unwrap()[0].group.clone();
    let some = expected(&bench, "d.route = 'audit'").await[5].to_string();
    let time = |text: &str| Some(text.parse().unwrap());
    let filters = [
        (none(), "true"),
        (DeliveryQuery { state: Some(DeliveryState::Dead), ..none() }, "d.state = 'dead'"),
        (DeliveryQuery { state: Some(DeliveryState::Waiting), source: text("stripe"), ..none() },
         "d.state = 'waiting' and r.source = 'stripe'"),
        (DeliveryQuery { state: Some(DeliveryState::Succeeded), route: text("deploy"), ..none() },
         "d.state = 'succeeded' and d.route = 'deploy'"),
        (DeliveryQuery { route: text("rare-route"), ..none() }, "d.route = 'rare-route'"),
        (DeliveryQuery { destination: text("auditor"), ..none() }, "d.destination = 'auditor'"),
        (DeliveryQuery { source: text("rare"), ..none() }, "r.source = 'rare'"),
        (DeliveryQuery { event_type: text("pull_request"), ..none() }, "r.event_type like 'pull\\_request.%'"),
        (DeliveryQuery { ordering_key: text("key 9"), ..none() }, "d.ordering_key = 'key 9'"),
        (DeliveryQuery { error: text("ANSWERED 500"), ..none() }, "d.last_error like 'was answered 500%'"),
        (DeliveryQuery { since: time("2026-12-02T23:50:00Z"), until: time("2026-12-02T23:55:00Z"), ..none() },
         "r.received_at >= '2026-12-02T23:50:00Z' and r.received_at < '2026-12-02T23:55:00Z'"),
        (DeliveryQuery { group: Some(group), ..none() },
         "d.state = 'dead' and d.last_error like 'was answered 5%' and d.last_error like (
             select left(last_error, 16) || '%' from oncehook.deliveries where state = 'dead' group by left(last_error, 16)
             order by count(*) desc, max(finished_at) desc limit 1)"),
        (DeliveryQuery { q: text("evt_11"), ..none() }, "r.delivery_id like 'evt\\_11%'"),
        (DeliveryQuery { q: text("t_11"), ..none() }, "r.delivery_id like '%t\\_11%'"),
        (DeliveryQuery { q: text(&some[..28]), ..none() }, "d.route = 'audit' and r.delivery_id = (
             select r.delivery_id from oncehook.receipts r join oncehook.deliveries d on d.receipt_id = r.id
             where d.route = 'audit' order by r.id desc, d.id desc offset 5 limit 1)"),
    ];
    for (query, condition) in filters {
        let right = expected(&bench, condition).await;
        assert!(!right.is_empty(), "{condition} finds nothing");
        for limit in [3, 500] {
            assert_eq!(walk(&desk, &query, limit).await, right, "{query:?} by {limit}");
        }
    }
}

#[tokio::test]
async fn a_delivery_and_its_attempts_are_told() {
    let bench = Bench::new().await;
    let delivery = bench.record(Some("a")).await;
    bench.script.plan(delivery, [Step::Reject]);
    bench.drain().await;
    let desk = desk_of(&bench.ctx);
    let found = desk.delivery(delivery).await.unwrap();
    assert_eq!(found.delivery.state, DeliveryState::Dead);
    let attempt = found.delivery.attempts[0].clone();
    bench.run_sql("update oncehook.attempts set answer_body = convert_to(repeat('é', 20000), 'utf8') || '\\xff', answer_is_cut = true").await;
    let whole = desk.attempt(attempt.id).await.unwrap();
    assert!(whole.answer_is_cut && whole.finished_at.is_some());
    assert_eq!(whole.answer.unwrap(), format!("{}\u{fffd}", "é".repeat(20_000)));
    let story = desk.receipt(found.receipt).await.unwrap();
    assert_eq!(story.deliveries[0].attempts[0].answer, None, "stories have only its beginning");
    assert!(matches!(desk.attempt(AttemptId::new()).await, Err(OperateError::NotFound { .. })));
    assert!(matches!(desk.delivery(DeliveryRef::new()).await, Err(OperateError::NotFound { .. })));
}

#[tokio::test]
async fn lanes_are_walked_from_the_oldest_and_blocked_ones_picked_out() {
    let bench = Bench::new().await;
    let desk = desk_of(&bench.ctx);
    for key in 0..12 {
        bench.record_many(&format!("key {key}"), 2).await;
    }
    let dead = bench.record(Some("key 7")).await;
    bench.run_sql("update oncehook.lanes set blocked_by = gen_random_uuid(), blocked_since = now() where ordering_key in ('key 7', 'key 3')").await;
    let mut query = LaneQuery { limit: Some(5), ..LaneQuery::default() };
    let mut keys = Vec::new();
    loop {
        let page = desk.lanes(&query).await.unwrap();
        keys.extend(page.items.iter().map(|lane| lane.ordering_key.clone()));
        let Some(next) = page.next else { break };
        query.cursor = Some(next);
    }
    assert_eq!(keys, (0..12).map(|key| format!("key {key}")).collect::<Vec<_>>());
    let blocked = desk.lanes(&LaneQuery { blocked: Some(true), ..LaneQuery::default() }).await.unwrap().items;
    assert_eq!(blocked.iter().map(|lane| &*lane.ordering_key).collect::<Vec<_>>(), ["key 3", "key 7"]);
    assert_eq!(blocked[1].unfinished, 3, "{dead} is one of them");
    let one = LaneQuery { ordering_key: text("key 4"), route: text("deploy"), ..LaneQuery::default() };
    assert_eq!(desk.lanes(&one).await.unwrap().items.len(), 1);
}
