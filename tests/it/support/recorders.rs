//! The recorder without HTTP around it: for tests that decide what stands in one batch.

use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::future::join_all;
use oncehook::{
    config,
    domain::{
        Arrival, DeliveryId, DeliveryRef, Digest, EventType, Headers, JobId, NewReceipt, OrderingKey, PlannedDelivery,
        ReceiptId,
    },
    record::{RecordError, Recorder},
    run::Doorbell,
    store::connect,
};
use sqlx::PgConnection;

use super::cluster::{TestDatabase, fresh_database};

/// The moment at which every event of these tests was received.
pub const RECEIVED_AT: DateTime<Utc> = DateTime::UNIX_EPOCH;

/// One recorder on a database of its own.
pub struct RecordBench {
    pub recorder: Recorder,
    database: TestDatabase,
}

impl RecordBench {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// With settings of its own.
    pub async fn with(change: impl FnOnce(&mut config::Record)) -> Self {
        let database = fresh_database().await;
        let mut settings =
            config::Record { batch_rows_max: 256, batch_bytes_max: 16 << 20, queue_max: 4_096, arrivals_kept: 100 };
        change(&mut settings);
        let recorder = start_recorder(&database, &settings).await;
        Self { recorder, database }
    }

    pub async fn connect(&self) -> PgConnection {
        self.database.connect().await
    }

    /// Gives all of them to the recorder before it can take the first, so that they stand in one batch (within its bounds):
    /// on one thread the committer runs when this task first waits, which is after every one is in the queue.
    pub async fn record_together(&self, events: Vec<NewReceipt>) -> Vec<Result<Arrival, RecordError>> {
        join_all(events.into_iter().map(|event| self.recorder.record(event))).await
    }

    pub async fn run_sql(&self, sql: &str) {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut self.connect().await).await.unwrap();
    }

    pub async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&mut self.connect().await).await.unwrap()
    }
}

pub async fn start_recorder(database: &TestDatabase, settings: &config::Record) -> Recorder {
    let pool_settings = config::Database { url: None, connections_max: 2, acquire_timeout: Duration::from_secs(10) };
    let pool = connect::connect(database.options.clone(), &pool_settings, "oncehook record").await.unwrap();
    Recorder::start(pool, settings, Doorbell::default()).0
}

/// An event of source `github` with one delivery, in the lane `key` or without one.
pub fn event(delivery_id: &str, key: Option<&str>, body: &str) -> NewReceipt {
    let ordering_key = key.map(OrderingKey::new);
    NewReceipt {
        id: ReceiptId::new(),
        source: "github".parse().unwrap(),
        delivery_id: DeliveryId::parse(delivery_id.as_bytes()).unwrap(),
        hook_scope: String::new(),
        hook_id: None,
        event_type: EventType::new("push"),
        ordering_key: ordering_key.clone(),
        event_time: None,
        version: None,
        replay_guard: oncehook::domain::ReplayGuard::Off,
        received_at: RECEIVED_AT,
        body_digest: Digest::of(body.as_bytes()),
        normalised_digest: Digest::of(body.as_bytes()),
        secret: None,
        signed_at: None,
        remote_address: None,
        flags: Vec::new(),
        headers: Headers::new(),
        body: Bytes::copy_from_slice(body.as_bytes()),
        deliveries: vec![PlannedDelivery {
            delivery: DeliveryRef::new(),
            route: "deploy".parse().unwrap(),
            destination: "deployer".parse().unwrap(),
            ordering_key,
            by_event: false,
            hold: std::time::Duration::ZERO,
            job: JobId::new(),
        }],
        may_revive: true,
    }
}

/// What recording came to, in one word.
pub fn word(result: &Result<Arrival, RecordError>) -> &'static str {
    match result {
        Ok(Arrival::First { .. }) => "accepted",
        Ok(Arrival::Held { .. }) => "held",
        Ok(Arrival::Duplicate(_)) => "duplicate",
        Ok(Arrival::Conflict(_)) => "conflict",
        Ok(Arrival::Replay { .. }) => "replay",
        Err(RecordError::Busy) => "busy",
        Err(RecordError::Unavailable) => "unavailable",
        Err(RecordError::Unknown) => "unknown",
        Err(RecordError::Refused) => "refused",
    }
}

/// SQL that makes recording the event `bad` fail, by its own statement or at the commit.
pub fn refuse(bad: &str, at_commit: bool) -> String {
    let trigger = if at_commit {
        "create constraint trigger refuse after insert on oncehook.receipts deferrable initially deferred"
    } else {
        "create trigger refuse before insert on oncehook.receipts"
    };
    format!(
        "create function refuse() returns trigger language plpgsql as
             $$ begin raise 'refused by the test'; end $$;
         {trigger} for each row when (new.delivery_id = '{bad}') execute function refuse()"
    )
}
