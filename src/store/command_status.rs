//! What became of a command: takes a receipt of one caller, gives its deliveries, each with the last answer that was kept.
//! Never changes anything.

use sqlx::PgConnection;

use super::{Result, read};
use crate::domain::{CallerName, DeliveryState, ReceiptId, SourceName};

/// One delivery of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandDelivery {
    /// The rule that asked for it.
    pub route: String,
    /// `deliver`, or `compensate`, which came later.
    pub purpose: String,
    /// Where it stands.
    pub state: DeliveryState,
    /// Attempts that were ever begun.
    pub attempts: i32,
    /// What the destination answered last, where it did.
    pub answer: Option<KeptAnswer>,
}

/// A destination's answer, as it was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// The HTTP status, or the exit code of a command.
    pub status: i32,
    /// All of its body; `None`: it is larger than was asked for.
    pub body: Option<Vec<u8>>,
}

/// The deliveries of a receipt in the order planned; `None`: this caller has no such receipt. Bodies of more than
/// `body_bytes_max` stay in the database. Takes no locks.
///
/// # Errors
/// When the database cannot be asked, or holds a state that this program does not know.
pub async fn command_status(
    conn: &mut PgConnection,
    receipt: ReceiptId,
    source: &SourceName,
    caller: &CallerName,
    body_bytes_max: i32,
) -> Result<Option<Vec<CommandDelivery>>> {
    let rows = sqlx::query!(
        r#"select d.route as "route?", d.purpose as "purpose?", d.state as "state?", d.attempts as "attempts?",
                  a.answer_status as "answer_status?",
                  case when not a.answer_is_cut and coalesce(octet_length(a.answer_body), 0) <= $4
                       then coalesce(a.answer_body, '') end as answer_body
           from oncehook.receipts r
           left join oncehook.deliveries d on d.receipt_id = r.id
           left join lateral (select * from oncehook.attempts tried
                              where tried.delivery = d.id and tried.finished_at is not null
                              order by tried.number desc limit 1) a on true
           where r.id = $1 and r.source = $2 and r.hook_scope = $3
           order by d.id"#,
        receipt.uuid(),
        source.as_str(),
        caller.as_str(),
        body_bytes_max
    )
    .fetch_all(conn)
    .await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let mut deliveries = Vec::with_capacity(rows.len());
    for row in rows {
        // A receipt that no route asked for has one row without a delivery.
        let (Some(route), Some(purpose), Some(state), Some(attempts)) =
            (row.route, row.purpose, row.state, row.attempts)
        else {
            continue;
        };
        let answer = row.answer_status.map(|status| KeptAnswer { status, body: row.answer_body });
        deliveries.push(CommandDelivery { route, purpose, state: read(&state)?, attempts, answer });
    }
    Ok(Some(deliveries))
}
