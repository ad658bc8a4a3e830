//! The recording statement: takes a batch of new receipts, and writes those whose event was never seen.
//!
//! Payloads, deliveries, lanes and jobs go with them, in one statement and so in one transaction. Never updates what is there.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{Fingerprint, Flag, NewReceipt, OrderingKey, ReceiptId, Version};

/// What the statement did.
#[derive(Debug, Default)]
pub struct Recorded {
    /// The receipts that were written.
    pub stored: HashSet<ReceiptId>,
    /// Those of them that are held as suspected replays.
    pub held: HashSet<ReceiptId>,
    /// Those that were not, since their bytes had come before under another id, and the earlier receipt.
    pub rejected: HashMap<ReceiptId, ReceiptId>,
}

/// Writes the receipts of `batch` whose event is new, and tells which those are.
///
/// What is left out was seen before, or stands in the batch a second time: that one is not even sent, so that it opens no
/// lane.
///
/// Locks, in this order: the lanes concerned, sorted (no write if the lane is open); then the receipts' identities, sorted.
/// Every recorder takes them in this order, so recorders cannot deadlock, and a lane's sequence is its commit order.
pub async fn record_new(conn: &mut PgConnection, batch: &[&NewReceipt]) -> crate::store::Result<Recorded> {
    let batch = first_of_each_event(batch);
    let receipts = ReceiptColumns::of(&batch);
    let planned = PlannedColumns::of(&batch);
    let rows = sqlx::query_file!(
        "src/store/record_new.sql",
        &receipts.id,
        &receipts.source as &[&str],
        &receipts.delivery_id as &[&str],
        &receipts.hook_scope as &[&str],
        &receipts.hook_id as &[Option<&str>],
        &receipts.event_type as &[&str],
        &receipts.ordering_key as &[Option<&str>],
        &receipts.event_time as &[Option<DateTime<Utc>>],
        &receipts.event_time_path as &[Option<&str>],
        &receipts.received_at,
        &receipts.body_digest as &[&[u8]],
        &receipts.normalised_digest as &[&[u8]],
        &receipts.secret_fingerprint as &[Option<&str>],
        &receipts.signed_at as &[Option<DateTime<Utc>>],
        &receipts.remote_address as &[Option<&str>],
        &receipts.flags as &[String],
        &receipts.headers as &[Vec<u8>],
        &receipts.body as &[&[u8]],
        &planned.receipt_id,
        &planned.delivery,
        &planned.route as &[&str],
        &planned.destination as &[&str],
        &planned.ordering_key as &[Option<&str>],
        &planned.job_id as &[String],
        &planned.job_without_lane as &[String],
        &planned.by_event,
        &planned.hold_seconds,
        &receipts.version as &[Option<String>],
        &receipts.version_scale as &[Option<&str>],
        &receipts.version_from as &[Option<&str>],
        &receipts.version_to as &[Option<&str>],
        &receipts.chain_first,
        &receipts.replay_guard as &[&str],
    )
    .fetch_all(conn)
    .await?;
    let mut recorded = Recorded::default();
    for row in rows {
        match row.rejected_for {
            None => {
                recorded.stored.insert(row.id.into());
                recorded.held.extend(row.is_held.then_some(ReceiptId::from(row.id)));
            }
            Some(earlier) => drop(recorded.rejected.insert(row.id.into(), earlier.into())),
        }
    }
    Ok(recorded)
}

fn first_of_each_event<'a>(batch: &[&'a NewReceipt]) -> Vec<&'a NewReceipt> {
    let mut events = HashSet::with_capacity(batch.len());
    batch.iter().copied().filter(|new| events.insert((&new.source, &new.delivery_id, &new.hook_scope))).collect()
}

/// Separates flags on their way into SQL; [`Flag`] holds no control characters.
const FLAG_SEPARATOR: &str = "\u{1f}";

/// The batch as arrays, one a column: `unnest` makes rows of them.
#[derive(Default)]
struct ReceiptColumns<'a> {
    id: Vec<Uuid>,
    source: Vec<&'a str>,
    delivery_id: Vec<&'a str>,
    hook_scope: Vec<&'a str>,
    hook_id: Vec<Option<&'a str>>,
    event_type: Vec<&'a str>,
    ordering_key: Vec<Option<&'a str>>,
    event_time: Vec<Option<DateTime<Utc>>>,
    event_time_path: Vec<Option<&'a str>>,
    received_at: Vec<DateTime<Utc>>,
    body_digest: Vec<&'a [u8]>,
    normalised_digest: Vec<&'a [u8]>,
    secret_fingerprint: Vec<Option<&'a str>>,
    signed_at: Vec<Option<DateTime<Utc>>>,
    remote_address: Vec<Option<&'a str>>,
    flags: Vec<String>,
    headers: Vec<Vec<u8>>,
    body: Vec<&'a [u8]>,
    /// Arrays of different lengths cannot be one array: each is sent as its text.
    version: Vec<Option<String>>,
    version_scale: Vec<Option<&'a str>>,
    version_from: Vec<Option<&'a str>>,
    version_to: Vec<Option<&'a str>>,
    chain_first: Vec<bool>,
    replay_guard: Vec<&'a str>,
}

impl<'a> ReceiptColumns<'a> {
    fn of(batch: &[&'a NewReceipt]) -> Self {
        let mut columns = Self::default();
        for new in batch {
            columns.id.push(new.id.uuid());
            columns.source.push(new.source.as_str());
            columns.delivery_id.push(new.delivery_id.as_str());
            columns.hook_scope.push(&new.hook_scope);
            columns.hook_id.push(new.hook_id.as_deref());
            columns.event_type.push(new.event_type.as_str());
            columns.ordering_key.push(new.ordering_key.as_ref().map(OrderingKey::as_str));
            columns.event_time.push(new.event_time.map(|time| time.at));
            columns.event_time_path.push(new.event_time.map(|time| time.path));
            columns.received_at.push(new.received_at);
            columns.body_digest.push(new.body_digest.as_bytes());
            columns.normalised_digest.push(new.normalised_digest.as_bytes());
            columns.secret_fingerprint.push(new.secret.as_ref().map(Fingerprint::as_str));
            columns.signed_at.push(new.signed_at);
            columns.remote_address.push(new.remote_address.as_deref());
            columns.flags.push(new.flags.iter().map(Flag::as_str).collect::<Vec<_>>().join(FLAG_SEPARATOR));
            columns.headers.push(new.headers.to_wire());
            columns.body.push(&new.body);
            columns.push_version(new.version.as_ref());
            columns.replay_guard.push(new.replay_guard.as_str());
        }
        columns
    }

    fn push_version(&mut self, version: Option<&'a Version>) {
        let chain = version.and_then(|version| version.chain.as_ref());
        self.version.push(version.map(|version| array_text(&version.parts)));
        self.version_scale.push(version.map(|version| version.scale.as_str()));
        self.version_from.push(chain.and_then(|chain| chain.from.as_deref()));
        self.version_to.push(chain.and_then(|chain| chain.to.as_deref()));
        self.chain_first.push(chain.is_some_and(|chain| chain.is_first));
    }
}

/// Numbers as PostgreSQL writes an array of them.
fn array_text(numbers: &[i64]) -> String {
    format!("{{{}}}", numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(","))
}

/// The batch's deliveries as arrays, in the order of the batch.
#[derive(Default)]
struct PlannedColumns<'a> {
    receipt_id: Vec<Uuid>,
    delivery: Vec<Uuid>,
    route: Vec<&'a str>,
    destination: Vec<&'a str>,
    ordering_key: Vec<Option<&'a str>>,
    job_id: Vec<String>,
    job_without_lane: Vec<String>,
    by_event: Vec<bool>,
    hold_seconds: Vec<f64>,
}

impl<'a> PlannedColumns<'a> {
    fn of(batch: &[&'a NewReceipt]) -> Self {
        let mut columns = Self::default();
        for new in batch {
            for planned in &new.deliveries {
                columns.receipt_id.push(new.id.uuid());
                columns.delivery.push(planned.delivery.uuid());
                columns.route.push(planned.route.as_str());
                columns.destination.push(planned.destination.as_str());
                columns.ordering_key.push(planned.ordering_key.as_ref().map(OrderingKey::as_str));
                columns.job_id.push(planned.job.to_string());
                columns.job_without_lane.push(planned.delivery.to_string());
                columns.by_event.push(planned.by_event);
                columns.hold_seconds.push(planned.hold.as_secs_f64());
            }
        }
        columns
    }
}
