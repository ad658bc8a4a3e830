//! A fresh, migrated database for one test of `run`, with a pool on it.

use oncehook::store::pool::guarded;
use sqlx::{PgPool, postgres::PgPoolOptions};

use super::cluster::{TestDatabase, fresh_database};

/// A database of its own, dropped with this value.
pub struct Database {
    pub pool: PgPool,
    database: TestDatabase,
}

impl Database {
    pub async fn fresh() -> Self {
        let database = fresh_database().await;
        let options = PgPoolOptions::new().max_connections(30).test_before_acquire(false);
        let pool = guarded(options).connect_with(database.options.clone()).await.unwrap();
        Self { pool, database }
    }

    /// Connections that stay when a test breaks the others.
    pub async fn observer(&self) -> PgPool {
        let options = self.database.options.clone().application_name("observer");
        PgPoolOptions::new().max_connections(2).connect_with(options).await.unwrap()
    }
}
