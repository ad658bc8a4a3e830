//! The audit log: a row for each change and for nothing else, never changed, and found again.

use chrono::TimeDelta;
use oncehook::{
    domain::{DeliveryRef, DeliveryState},
    operate::{AuditQuery, Instruction, OperateError, Pausable, Via},
};

use crate::support::{
    bench::Bench,
    desk::{by, desk_of, operator},
};

#[tokio::test]
async fn a_change_whose_reason_cannot_be_kept_is_not_made() {
    let bench = Bench::new().await;
    let delivery = bench.record(Some("a")).await;
    let (desk, operator) = (desk_of(&bench.ctx), operator());
    for reason in ["x".repeat(Instruction::REASON_BYTES_MAX + 1), "a\0b".to_owned()] {
        let refused = desk.cancel(delivery, Instruction { by: &operator, reason: Some(&reason) }).await;
        assert!(matches!(refused, Err(OperateError::Invalid { field: "reason", .. })), "{refused:?}");
        let refused = desk.pause(Pausable::Route, "deploy", Instruction { by: &operator, reason: Some(&reason) }).await;
        assert!(matches!(refused, Err(OperateError::Invalid { field: "reason", .. })), "{refused:?}");
    }
    assert_eq!(bench.state(delivery).await, DeliveryState::Queued);
    assert_eq!(
        bench.count("select (select count(*) from oncehook.audit) + (select count(*) from oncehook.pauses)").await,
        0
    );
}

#[tokio::test]
async fn an_entry_says_who_did_what_from_where_to_what_and_why() {
    let bench = Bench::new().await;
    let delivery = bench.record(Some("a")).await;
    let (desk, operator) = (desk_of(&bench.ctx), operator());
    desk.cancel(delivery, by(&operator)).await.unwrap();
    desk.retry(delivery, Instruction { by: &operator, reason: Some("  ") }).await.unwrap();
    let page = desk.audit(&AuditQuery::default()).await.unwrap();
    let [retried, cancelled] = &page.items[..] else { panic!("{page:?}") };
    assert_eq!((retried.action.as_str(), &retried.reason), ("retry", &None), "newest first; blank is none");
    assert_eq!((cancelled.action.as_str(), cancelled.operator.as_str(), cancelled.via), ("cancel", "ada", Via::Api));
    assert_eq!(cancelled.subject, delivery.to_string());
    assert_eq!(cancelled.reason.as_deref(), Some("since it must"));
    assert_eq!(cancelled.details, serde_json::json!({ "from": "queued" }));
    assert_eq!(page.next, None);
}

#[tokio::test]
async fn entries_are_added_and_never_changed() {
    let bench = Bench::new().await;
    desk_of(&bench.ctx).pause(Pausable::Route, "deploy", by(&operator())).await.unwrap();
    for change in ["update oncehook.audit set reason = ''", "delete from oncehook.audit", "truncate oncehook.audit"] {
        let refused = sqlx::raw_sql(change).execute(bench.pool()).await.unwrap_err();
        assert!(refused.to_string().contains("added and never changed"), "{refused}");
    }
    assert_eq!(bench.count("select count(*) from oncehook.audit").await, 1);
}

#[tokio::test]
async fn the_log_is_read_in_pages_and_by_operator_action_subject_and_time() {
    let bench = Bench::new().await;
    let deliveries = bench.record_many("a", 5).await;
    let (desk, mut operator) = (desk_of(&bench.ctx), operator());
    for (number, &delivery) in deliveries.iter().enumerate() {
        bench.set_clock(i32::try_from(number).unwrap() * 60).await;
        operator.name = format!("operator {}", number % 2);
        desk.cancel(delivery, by(&operator)).await.unwrap();
    }
    let subjects = async |query: AuditQuery| {
        let page = desk.audit(&query).await.unwrap();
        (page.items.iter().map(|line| line.subject.parse::<DeliveryRef>().unwrap()).collect::<Vec<_>>(), page.next)
    };
    let newest_first: Vec<_> = deliveries.iter().rev().copied().collect();
    let mut query = AuditQuery { limit: Some(2), ..AuditQuery::default() };
    let mut read = Vec::new();
    loop {
        let (items, next) = subjects(query.clone()).await;
        assert!(items.len() <= 2);
        read.extend(items);
        query.cursor = next;
        if query.cursor.is_none() {
            break;
        }
    }
    assert_eq!(read, newest_first);

    let by_one = AuditQuery { operator: Some("operator 1".to_owned()), ..AuditQuery::default() };
    assert_eq!(subjects(by_one).await.0, [newest_first[1], newest_first[3]]);
    let about = AuditQuery { subject: Some(deliveries[2].to_string()), ..AuditQuery::default() };
    assert_eq!(subjects(about.clone()).await.0, [deliveries[2]]);
    let other_action = AuditQuery { action: Some("retry".to_owned()), ..about };
    assert!(subjects(other_action).await.0.is_empty());
    let at = desk.audit(&AuditQuery::default()).await.unwrap().items[2].at;
    let between = AuditQuery { since: Some(at), until: Some(at + TimeDelta::seconds(1)), ..AuditQuery::default() };
    assert_eq!(subjects(between).await.0, [deliveries[2]]);
}

#[tokio::test]
async fn a_cursor_or_limit_that_is_none_is_refused() {
    let bench = Bench::new().await;
    let desk = desk_of(&bench.ctx);
    for (query, named) in [
        (AuditQuery { cursor: Some("x".to_owned()), ..AuditQuery::default() }, "cursor"),
        (AuditQuery { limit: Some(0), ..AuditQuery::default() }, "limit"),
        (AuditQuery { limit: Some(501), ..AuditQuery::default() }, "limit"),
    ] {
        let refused = desk.audit(&query).await;
        assert!(matches!(&refused, Err(OperateError::Invalid { field, .. }) if *field == named), "{refused:?}");
    }
}
