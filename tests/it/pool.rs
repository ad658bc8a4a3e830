//! Promise P1 needs it: what is written outside a transaction is committed when the statement returns.

use futures_util::FutureExt as _;
use sqlx::{Connection as _, PgPool, Row as _, postgres::PgPoolOptions};

use crate::support::bench::Bench;

/// Whether a connection of this pool is inside a transaction after a `begin()` was dropped before its answer came.
async fn is_spoilt_by_a_dropped_begin(pool: &PgPool) -> bool {
    let mut conn = pool.acquire().await.unwrap();
    // The first poll sends BEGIN. On a busy machine its answer may be there at once, and then nothing was dropped half-way.
    let mut tries = (0..1_000).map(|_| conn.begin().now_or_never().is_none());
    assert!(tries.any(|was_half_way| was_half_way), "the answer always came at once");
    drop(conn);
    let mut conn = pool.acquire().await.unwrap();
    let row =
        sqlx::raw_sql("select transaction_timestamp() = statement_timestamp()").fetch_one(&mut *conn).await.unwrap();
    !row.get::<bool, _>(0)
}

#[tokio::test]
async fn a_connection_that_was_left_inside_a_transaction_does_not_come_back() {
    let bench = Bench::new().await;
    let connect = || (*bench.pool().connect_options()).clone();
    let bare = PgPoolOptions::new().max_connections(1).test_before_acquire(false);
    let guarded = oncehook::store::pool::guarded(bare.clone()).connect_with(connect()).await.unwrap();
    let bare = bare.connect_with(connect()).await.unwrap();
    assert!(is_spoilt_by_a_dropped_begin(&bare).await, "sqlx does it right now: the guard can go");
    assert!(!is_spoilt_by_a_dropped_begin(&guarded).await);
}
