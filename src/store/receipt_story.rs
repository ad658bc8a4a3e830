//! All that is known about one receipt: takes its id, gives facts, arrivals, conflicts, deliveries and attempts.
//!
//! The payload is read only when asked for. Never changes anything.

use chrono::{DateTime, Utc};
use sqlx::{Connection as _, PgConnection, Postgres, Transaction};

use super::{
    Result,
    delivery_story::{DeliveryStory, deliveries_of},
    versions::find_version,
};
use crate::domain::{DeliveryRef, Headers, ReceiptId, Version};

/// A receipt, and all that happened to it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct ReceiptStory {
    /// What is known since it came in.
    #[serde(flatten)]
    pub facts: ReceiptFacts,
    /// Later requests for it, in order. The first one's facts stand on the receipt.
    pub later_arrivals: Vec<LaterArrival>,
    /// Other payloads under its delivery id, in order. Kept, never run.
    pub conflicts: Vec<ConflictFacts>,
    /// Where it went, in the order planned.
    pub deliveries: Vec<DeliveryStory>,
    /// The conflict that an operator has made it of; `None`: it came in by itself.
    #[serde(default)]
    pub promoted_from: Option<PromotedFrom>,
}

/// The conflict that a receipt was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct PromotedFrom {
    /// Its number.
    pub conflict: i64,
    /// The receipt that was first under its delivery id.
    pub receipt: ReceiptId,
}

/// What is known about a receipt since it came in.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct ReceiptFacts {
    /// Its id.
    #[serde(rename = "receipt")]
    pub id: ReceiptId,
    /// The way in.
    pub source: String,
    /// The provider's own id.
    pub delivery_id: String,
    /// The hook that sent it, where the provider says so.
    pub hook_id: Option<String>,
    /// What kind of event.
    pub event_type: String,
    /// What the event is about.
    pub ordering_key: Option<String>,
    /// When it happened, by the provider.
    pub event_time: Option<DateTime<Utc>>,
    /// Where in the payload that was read.
    pub event_time_path: Option<String>,
    /// Where it stands in its subject's history.
    pub version: Option<Version>,
    /// When its last byte had been read, by the node's clock.
    pub received_at: DateTime<Utc>,
    /// When it was written, by the database's clock.
    pub recorded_at: DateTime<Utc>,
    /// SHA-256 of the body, in hex.
    pub body_digest: String,
    /// SHA-256 of what stays the same between deliveries of one event, in hex.
    pub normalised_digest: String,
    /// The size of the body.
    pub body_bytes: i32,
    /// Which secret matched; `None`: the source takes unsigned requests.
    pub secret_fingerprint: Option<String>,
    /// The signed timestamp, where the scheme has one.
    pub signed_at: Option<DateTime<Utc>>,
    /// The peer.
    pub remote_address: Option<String>,
    /// Remarks for the operator.
    pub flags: Vec<String>,
    /// Since when it is held as a suspected replay; `None`: it is not.
    #[serde(default)]
    pub held_since: Option<DateTime<Utc>>,
}

/// A later request for a receipt.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct LaterArrival {
    /// `duplicate` or `conflict`.
    pub kind: String,
    /// When it had been read whole.
    pub arrived_at: DateTime<Utc>,
    /// The hook that sent it.
    pub hook_id: Option<String>,
    /// The peer.
    pub remote_address: Option<String>,
    /// Further ones that were only counted.
    pub repeats: i32,
}

/// Another payload that came under the delivery id of a receipt.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct ConflictFacts {
    /// Its number.
    pub conflict: i64,
    /// When it had been read whole.
    pub arrived_at: DateTime<Utc>,
    /// What kind of event it says it is.
    pub event_type: String,
    /// SHA-256 of its body, in hex.
    pub body_digest: String,
    /// The size of its body.
    pub body_bytes: i32,
    /// The receipt that an operator has made of it.
    #[serde(default)]
    pub promoted_to: Option<ReceiptId>,
    /// When.
    #[serde(default)]
    pub promoted_at: Option<DateTime<Utc>>,
}

/// What came in, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Header lines.
    pub headers: Headers,
    /// The body.
    pub body: Vec<u8>,
}

/// The story of a receipt, without its payload; `None` when there is no such receipt. Reads in several queries: use
/// [`begin_reading`] for one picture of one moment. Takes no locks.
///
/// # Errors
/// When the database cannot be asked, or holds a word that this program does not know.
pub async fn tell_receipt_story(conn: &mut PgConnection, id: ReceiptId) -> Result<Option<ReceiptStory>> {
    let Some(facts) = find_receipt(conn, id).await? else { return Ok(None) };
    Ok(Some(ReceiptStory {
        facts,
        later_arrivals: arrivals_of(conn, id).await?,
        conflicts: conflicts_of(conn, id).await?,
        deliveries: deliveries_of(conn, id).await?,
        promoted_from: promoted_from(conn, id).await?,
    }))
}

/// Begins a transaction that sees one moment and changes nothing.
///
/// # Errors
/// When the database cannot be asked.
pub async fn begin_reading(conn: &mut PgConnection) -> Result<Transaction<'_, Postgres>> {
    Ok(conn.begin_with("begin isolation level repeatable read, read only").await?)
}

/// The payload of a receipt; `None` once its time is over. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn read_payload(conn: &mut PgConnection, id: ReceiptId) -> Result<Option<Payload>> {
    let row = sqlx::query!("select headers, body from oncehook.payloads where receipt_id = $1", id.uuid())
        .fetch_optional(conn)
        .await?;
    Ok(row.map(|row| Payload { headers: Headers::from_wire(&row.headers), body: row.body }))
}

/// The receipt that a delivery delivers. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn receipt_of_delivery(conn: &mut PgConnection, delivery: DeliveryRef) -> Result<Option<ReceiptId>> {
    let id = sqlx::query_scalar!("select receipt_id from oncehook.deliveries where id = $1", delivery.uuid())
        .fetch_optional(conn)
        .await?;
    Ok(id.map(ReceiptId::from))
}

/// Takes no locks.
async fn find_receipt(conn: &mut PgConnection, id: ReceiptId) -> Result<Option<ReceiptFacts>> {
    let version = find_version(conn, id).await?;
    let row = sqlx::query!(
        "select source, delivery_id, hook_id, event_type, ordering_key, event_time, event_time_path, received_at,
                recorded_at, body_digest, normalised_digest, body_bytes, secret_fingerprint, signed_at, remote_address, flags,
                replay_of, held_since
         from oncehook.receipts where id = $1",
        id.uuid()
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| ReceiptFacts {
        id,
        source: row.source,
        delivery_id: row.delivery_id,
        hook_id: row.hook_id,
        event_type: row.event_type,
        ordering_key: row.ordering_key,
        event_time: row.event_time,
        event_time_path: row.event_time_path,
        version,
        received_at: row.received_at,
        recorded_at: row.recorded_at,
        body_digest: hex::encode(row.body_digest),
        normalised_digest: hex::encode(row.normalised_digest),
        body_bytes: row.body_bytes,
        secret_fingerprint: row.secret_fingerprint,
        signed_at: row.signed_at,
        remote_address: row.remote_address,
        flags: row.flags.into_iter().map(|flag| explained(flag, row.replay_of)).collect(),
        held_since: row.held_since,
    }))
}

/// The flag of a suspected replay, with the receipt that was first.
fn explained(flag: String, replay_of: Option<uuid::Uuid>) -> String {
    match (flag.as_str(), replay_of.map(ReceiptId::from)) {
        ("suspected_replay", Some(first)) => {
            format!("suspected_replay: the same bytes came before under another delivery id, as {first}")
        }
        _ => flag,
    }
}

/// Takes no locks.
async fn arrivals_of(conn: &mut PgConnection, id: ReceiptId) -> Result<Vec<LaterArrival>> {
    Ok(sqlx::query_as!(
        LaterArrival,
        "select kind, arrived_at, hook_id, remote_address, repeats from oncehook.arrivals where receipt_id = $1 order by id",
        id.uuid()
    )
    .fetch_all(conn)
    .await?)
}

/// A promoted receipt has a scope of its own, which names the conflict. Takes no locks.
async fn promoted_from(conn: &mut PgConnection, id: ReceiptId) -> Result<Option<PromotedFrom>> {
    let row = sqlx::query!(
        "select c.id, c.receipt_id from oncehook.receipts r
         join oncehook.conflicts c on c.id = substring(r.hook_scope from '^conflict:([0-9]{1,18})$')::bigint
         where r.id = $1 and c.promoted_to = r.id",
        id.uuid()
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| PromotedFrom { conflict: row.id, receipt: row.receipt_id.into() }))
}

/// Takes no locks.
async fn conflicts_of(conn: &mut PgConnection, id: ReceiptId) -> Result<Vec<ConflictFacts>> {
    let rows = sqlx::query!(
        r#"select id, arrived_at, event_type, encode(body_digest, 'hex') as "body_digest!", octet_length(body) as "body_bytes!",
                  promoted_to, promoted_at
           from oncehook.conflicts where receipt_id = $1 order by id"#,
        id.uuid()
    )
    .fetch_all(conn)
    .await?;
    let facts = rows.into_iter().map(|row| ConflictFacts {
        conflict: row.id,
        arrived_at: row.arrived_at,
        event_type: row.event_type,
        body_digest: row.body_digest,
        body_bytes: row.body_bytes,
        promoted_to: row.promoted_to.map(ReceiptId::from),
        promoted_at: row.promoted_at,
    });
    Ok(facts.collect())
}
