//! What the database holds when all is over, in plain SQL of the checker's own. Times come as microseconds since 1970.

use anyhow::Context as _;
use sqlx::{Connection as _, FromRow, PgConnection, postgres::PgRow};
use uuid::Uuid;

/// Everything that the checks look at.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub receipts: Vec<Receipt>,
    pub conflicts: Vec<Conflict>,
    pub deliveries: Vec<Delivery>,
    pub attempts: Vec<Attempt>,
    pub ledger: Vec<Entry>,
    /// What stands in the way of the end: what it is, and which one.
    pub left_over: Vec<(String, String)>,
}

#[derive(Debug, FromRow)]
pub(super) struct Receipt {
    pub id: Uuid,
    pub source: String,
    pub delivery_id: String,
    /// Of the body as it is stored, by the database; `None` without a payload.
    pub body_sha256: Option<String>,
    /// As the recorder wrote it.
    pub noted_sha256: String,
    /// Whether the provider's bodies may differ in what means nothing.
    pub is_normalised: bool,
    pub event_us: Option<i64>,
    pub recorded_us: i64,
}

#[derive(Debug, FromRow)]
pub(super) struct Conflict {
    pub receipt_id: Uuid,
    pub body_sha256: String,
}

#[derive(Debug, FromRow)]
pub(super) struct Delivery {
    pub id: Uuid,
    pub seq: i64,
    pub receipt_id: Uuid,
    pub route: String,
    pub ordering_key: Option<String>,
    pub state: String,
    pub finished_us: Option<i64>,
}

#[derive(Debug, FromRow)]
pub(super) struct Attempt {
    pub delivery: Uuid,
    pub number: i32,
    pub trigger: String,
    pub worker: String,
    pub started_us: i64,
    pub finished_us: Option<i64>,
    pub outcome: Option<String>,
    pub reason: Option<String>,
}

/// A row that a SQL destination wrote in the transaction that marks its delivery.
#[derive(Debug, FromRow)]
pub(super) struct Entry {
    pub n: i64,
    pub delivery: String,
    pub receipt: String,
    pub delivery_id: String,
    pub body_sha256: String,
    pub at_us: i64,
}

const RECEIPTS: &str = "
    select r.id, r.source, r.delivery_id, encode(sha256(p.body), 'hex') as body_sha256,
           encode(r.body_digest, 'hex') as noted_sha256, r.normalised_digest <> r.body_digest as is_normalised,
           (extract(epoch from r.event_time) * 1000000)::bigint as event_us,
           (extract(epoch from r.recorded_at) * 1000000)::bigint as recorded_us
    from oncehook.receipts r left join oncehook.payloads p on p.receipt_id = r.id";

const CONFLICTS: &str = "select receipt_id, encode(sha256(body), 'hex') as body_sha256 from oncehook.conflicts";

const DELIVERIES: &str = "
    select id, seq, receipt_id, route, ordering_key, state,
           (extract(epoch from finished_at) * 1000000)::bigint as finished_us
    from oncehook.deliveries order by seq";

const ATTEMPTS: &str = "
    select delivery, number, trigger, worker, outcome, reason,
           (extract(epoch from started_at) * 1000000)::bigint as started_us,
           (extract(epoch from finished_at) * 1000000)::bigint as finished_us
    from oncehook.attempts order by delivery, number";

const LEDGER: &str = "
    select n, delivery, receipt, delivery_id, body_sha256, (extract(epoch from at) * 1000000)::bigint as at_us
    from drill.ledger order by n";

const LEFT_OVER: &str = "
    select 'a delivery that is ' || state, coalesce(delivery_id, d.id::text) || ' on route ' || route
    from oncehook.deliveries d left join oncehook.receipts r on r.id = d.receipt_id where d.finished_at is null
    union all
    select 'a lane', route || ' / ' || ordering_key || ', job ' || job_id from oncehook.lanes
    union all
    select 'an open attempt', delivery || ', number ' || number || ', by ' || worker
    from oncehook.attempts where finished_at is null
    union all
    select 'a job', id || ', ' || status || ', ' || convert_from(job, 'UTF8') from apalis.jobs j where status <> 'Done'";

/// Reads it all in one snapshot.
pub(super) async fn read(database_url: &str) -> anyhow::Result<Stored> {
    let mut connection =
        PgConnection::connect(database_url).await.context("failed to connect to the drill's database")?;
    let mut tx = connection.begin_with("begin isolation level repeatable read read only").await?;
    let stored = Stored {
        receipts: rows(&mut tx, RECEIPTS).await.context("receipts")?,
        conflicts: rows(&mut tx, CONFLICTS).await.context("conflicts")?,
        deliveries: rows(&mut tx, DELIVERIES).await.context("deliveries")?,
        attempts: rows(&mut tx, ATTEMPTS).await.context("attempts")?,
        ledger: if has_ledger(&mut tx).await? {
            rows(&mut tx, LEDGER).await.context("the ledger")?
        } else {
            Vec::new()
        },
        left_over: sqlx::query_as(LEFT_OVER).fetch_all(&mut *tx).await.context("what is left over")?,
    };
    drop(tx);
    Ok(stored)
}

async fn has_ledger(conn: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar("select to_regclass('drill.ledger') is not null").fetch_one(conn).await
}

async fn rows<T>(conn: &mut PgConnection, sql: &'static str) -> sqlx::Result<Vec<T>>
where
    T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
{
    sqlx::query_as(sql).fetch_all(conn).await
}
