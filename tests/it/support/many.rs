//! Many receipts at once, written by SQL as recording leaves them: for lists, searches and their plans.

use sqlx::{AssertSqlSafe, PgConnection};

/// `count` receipts from three sources, two deliveries each. Receipt n came in n seconds before 2026-12-03 00:00 (so that 1 is
/// the newest), with an id that says so; its id of the provider's is `evt_n`. Each hundredth is of the rare source; one in ten
/// has a flag; of a hundred deliveries one is dead, one waits, one retries. Payloads are JSON.
pub async fn fill(conn: &mut PgConnection, count: u32) {
    let sql = FILL.replace("{count}", &count.to_string());
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *conn).await.unwrap();
    sqlx::raw_sql("analyze").execute(conn).await.unwrap();
}

const FILL: &str = include_str!("../../../scripts/fill-receipts.sql");
