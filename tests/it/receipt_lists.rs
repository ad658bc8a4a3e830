//! Lists of receipts on a table with many rows: they walk an index, and read no payload.

use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use crate::support::cluster;

const LIST: &str = include_str!("../../src/store/receipt_list.sql");
const BY_DELIVERY_ID: &str = include_str!("../../src/store/receipt_list_by_delivery_id.sql");

async fn fill(conn: &mut PgConnection) {
    let fill = "insert into oncehook.receipts (id, source, delivery_id, event_type, received_at, body_digest, normalised_digest,
                                               body_bytes)
                select gen_random_uuid(), 'source-' || n % 3, 'id-' || n, 'push', now(), sha256('x'), sha256('x'), 1
                from generate_series(1, 20000) n";
    sqlx::raw_sql(fill).execute(&mut *conn).await.unwrap();
    sqlx::raw_sql("analyze oncehook.receipts").execute(conn).await.unwrap();
}

/// The plan of `query`, with its parameters written out as the driver binds them.
async fn plan(conn: &mut PgConnection, query: &str, parameters: &[(&str, &str)]) -> String {
    let bound = parameters.iter().rev().fold(query.to_owned(), |sql, (name, value)| sql.replace(name, value));
    let rows = sqlx::query(AssertSqlSafe(format!("explain {bound}"))).fetch_all(conn).await.unwrap();
    rows.iter().map(|row| row.get::<String, _>(0)).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn the_newest_receipts_are_read_from_the_end_of_the_primary_key() {
    let database = cluster::fresh_database().await;
    let mut conn = database.connect().await;
    fill(&mut conn).await;
    let none = "null";
    let parameters = [("$1", none), ("$2", none), ("$3", none), ("$4", none), ("$5", none), ("$6", "20")];
    let plan = plan(&mut conn, LIST, &parameters).await;
    assert!(plan.contains("Index Scan Backward using receipts_pkey"), "{plan}");
    assert!(!plan.contains("Seq Scan on receipts") && !plan.contains("payloads"), "{plan}");
}

#[tokio::test]
async fn a_delivery_id_is_looked_up_in_the_index_of_identities() {
    let database = cluster::fresh_database().await;
    let mut conn = database.connect().await;
    fill(&mut conn).await;
    let none = "null";
    let parameters =
        [("$1", "'id-7'"), ("$2", none), ("$3", none), ("$4", none), ("$5", none), ("$6", none), ("$7", "20")];
    let plan = plan(&mut conn, BY_DELIVERY_ID, &parameters).await;
    assert!(plan.contains("Index Cond: ((source = s.source) AND (delivery_id = 'id-7'::text))"), "{plan}");
    assert!(!plan.contains("Seq Scan on receipts"), "{plan}");
}
