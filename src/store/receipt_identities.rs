//! What receipts' identities have in common: the sources that there are, the event types of each, the ids of the provider's that
//! begin alike. Each hops along an index; none reads a table. Takes no locks.

use sqlx::PgConnection;
use uuid::Uuid;

use super::{Result, walk::behind};

/// Sources and types in one search. GitHub's most talkative event has 30 actions.
const BRANCHES_MAX: i64 = 200;

/// Every source that has a receipt.
///
/// # Errors
/// When the database cannot be asked.
pub async fn sources(conn: &mut PgConnection) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        r#"with recursive sources as (
               (select r.source from oncehook.receipts r order by r.source limit 1)
               union all
               select (select r.source from oncehook.receipts r where r.source > s.source order by r.source limit 1)
               from sources s where s.source is not null
           )
           select source as "source!" from sources where source is not null limit $1"#,
        BRANCHES_MAX
    )
    .fetch_all(conn)
    .await?)
}

/// The event types that are `event_type` or below it, with their sources.
///
/// # Errors
/// When the database cannot be asked.
pub async fn types(conn: &mut PgConnection, source: Option<&str>, event_type: &str) -> Result<Vec<(String, String)>> {
    let sources = match source {
        Some(source) => vec![source.to_owned()],
        None => sources(&mut *conn).await?,
    };
    // A slash is the byte behind the full stop.
    let rows = sqlx::query!(
        r#"with recursive types as (
               select s.source, (select r.event_type from oncehook.receipts r
                                 where r.source = s.source and r.event_type >= $2 || '.' and r.event_type < $2 || '/'
                                 order by r.event_type limit 1) as event_type
               from unnest($1::text[]) s(source)
               union all
               select t.source, (select r.event_type from oncehook.receipts r
                                 where r.source = t.source and r.event_type > t.event_type and r.event_type < $2 || '/'
                                 order by r.event_type limit 1)
               from types t where t.event_type is not null
           )
           select source as "source!", event_type as "event_type!" from types where event_type is not null
           union all
           select s.source, $2 from unnest($1::text[]) s(source)
           limit $3"#,
        &sources,
        event_type,
        BRANCHES_MAX,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.source, row.event_type)).collect())
}

/// Receipts whose id of the provider's begins with `text`, at most `limit`.
///
/// # Errors
/// When the database cannot be asked.
pub async fn beginning_with(conn: &mut PgConnection, text: &str, limit: i64) -> Result<Vec<Uuid>> {
    let Some(end) = behind(text) else { return Ok(Vec::new()) };
    let sources = sources(&mut *conn).await?;
    Ok(sqlx::query_scalar!(
        r#"select r.id from unnest($1::text[]) s(source)
           join lateral (select r.id from oncehook.receipts r
                         where r.source = s.source and r.delivery_id >= $2 and r.delivery_id < $3 limit $4) r on true
           limit $4"#,
        &sources,
        text,
        end,
        limit,
    )
    .fetch_all(conn)
    .await?)
}

/// The receipts of the youngest deliveries whose ids are in a range, at most `limit`.
///
/// # Errors
/// When the database cannot be asked.
pub async fn receipts_of_deliveries(conn: &mut PgConnection, first: Uuid, last: Uuid, limit: i64) -> Result<Vec<Uuid>> {
    Ok(sqlx::query_scalar!(
        "select receipt_id from oncehook.deliveries where id between $1 and $2 order by id desc limit $3",
        first,
        last,
        limit
    )
    .fetch_all(conn)
    .await?)
}
