//! One receipt with one delivery, for the tests of views.

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    domain::{AttemptId, Chain, DeliveryRef, DeliveryState, Purpose, ReceiptId, Version},
    operate::ConflictLine,
    store::{
        delivery_story::{AttemptFacts, DeliveryStory, Staleness},
        receipt_story::{ConflictFacts, LaterArrival, ReceiptFacts, ReceiptStory},
    },
};

/// 2026-01-05 10:00:00.250 UTC.
pub fn morning() -> DateTime<Utc> {
    DateTime::from_timestamp_millis(1_767_607_200_250).unwrap()
}

pub fn receipt_id() -> ReceiptId {
    "rcp_01ke6vafet00000000000000r1".parse().unwrap()
}

pub fn delivery_ref() -> DeliveryRef {
    "dlv_01ke6vafet00000000000000d1".parse().unwrap()
}

fn attempt(number: i32) -> AttemptFacts {
    AttemptFacts {
        id: AttemptId::from(uuid::Uuid::nil()),
        number,
        trigger: "automatic".to_owned(),
        worker: "host-1/7".to_owned(),
        started_at: morning() + TimeDelta::seconds(i64::from(number)),
        duration_ms: Some(12),
        outcome: Some("failed".to_owned()),
        reason: Some("answered 503 Service Unavailable".to_owned()),
        answer_status: Some(503),
        answer_beginning: Some("try later\nsecond line".to_owned()),
    }
}

pub fn conflict() -> ConflictFacts {
    ConflictFacts {
        conflict: 1,
        arrived_at: morning(),
        event_type: "push".to_owned(),
        body_digest: "cc".repeat(32),
        body_bytes: 7,
    }
}

pub fn conflict_line() -> ConflictLine {
    ConflictLine {
        conflict: 1,
        receipt: receipt_id(),
        source: "github".to_owned(),
        delivery_id: "0b989ba4-242f-11e5-81e1-c7b6966d2516".to_owned(),
        event_type: "push".to_owned(),
        arrived_at: morning(),
        body_digest: "cc".repeat(32),
        body_bytes: 7,
        promoted_to: None,
        promoted_at: None,
    }
}

pub fn arrival(kind: &str) -> LaterArrival {
    LaterArrival {
        kind: kind.to_owned(),
        arrived_at: morning(),
        hook_id: None,
        remote_address: Some("192.0.2.7".to_owned()),
        repeats: 0,
    }
}

/// A push that was skipped, since its lane had applied a newer one.
pub fn stale_story() -> ReceiptStory {
    let mut story = story();
    let chain = Chain { from: None, to: Some("6dcb09b5b57875f334f61aebed695e2e4193db5e".to_owned()), is_first: true };
    let parts = vec![1_767_607_198_000_000];
    story.facts.version = Some(Version { scale: "repository.pushed_at".into(), parts, chain: Some(chain) });
    let delivery = &mut story.deliveries[0];
    delivery.by_event = true;
    delivery.state = DeliveryState::Skipped;
    let why = "stale: repository.pushed_at 09:59:58 is older than 10:00:00 applied by rcp_01ke6vafet00000000000000r2";
    delivery.stale =
        Some(Staleness { against: "rcp_01ke6vafet00000000000000r2".parse().unwrap(), why: why.to_owned() });
    delivery.attempts.clear();
    story
}

/// A push that was delivered on its second attempt.
pub fn story() -> ReceiptStory {
    let facts = ReceiptFacts {
        id: receipt_id(),
        source: "github".to_owned(),
        delivery_id: "0b989ba4-242f-11e5-81e1-c7b6966d2516".to_owned(),
        hook_id: Some("100000001".to_owned()),
        event_type: "push".to_owned(),
        ordering_key: Some("ref/200000001/refs/heads/main".to_owned()),
        event_time: Some(morning() - TimeDelta::seconds(2)),
        event_time_path: Some("repository.pushed_at".to_owned()),
        version: None,
        received_at: morning(),
        recorded_at: morning() + TimeDelta::milliseconds(3),
        body_digest: "aa".repeat(32),
        normalised_digest: "bb".repeat(32),
        body_bytes: 16,
        secret_fingerprint: Some("5eed5eed".to_owned()),
        signed_at: None,
        remote_address: Some("192.0.2.7".to_owned()),
        flags: vec![],
    };
    let succeeded = AttemptFacts {
        outcome: Some("succeeded".to_owned()),
        reason: Some("answered 200 OK".to_owned()),
        answer_status: Some(200),
        answer_beginning: None,
        ..attempt(2)
    };
    let delivery = DeliveryStory {
        id: delivery_ref(),
        route: "deploy".to_owned(),
        destination: "deployer".to_owned(),
        purpose: Purpose::Deliver,
        ordering_key: facts.ordering_key.clone(),
        by_event: false,
        stale: None,
        state: DeliveryState::Succeeded,
        trigger: "automatic".to_owned(),
        due_at: morning() + TimeDelta::seconds(5),
        ahead: 0,
        blocked_by: None,
        crashes: 0,
        last_error: None,
        created_at: morning(),
        finished_at: Some(morning() + TimeDelta::seconds(2)),
        attempts: vec![attempt(1), succeeded],
    };
    ReceiptStory { facts, later_arrivals: vec![], conflicts: vec![], deliveries: vec![delivery] }
}
