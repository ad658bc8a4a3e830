//! A fresh, migrated database for one test of `run`, with a pool on it.

use sqlx::{PgPool, postgres::PgPoolOptions};

use super::cluster::{TestDatabase, fresh_database};

/// A database of its own, dropped with this value.
pub struct Database {
    pub pool: PgPool,
    _database: TestDatabase,
}

impl Database {
    pub async fn fresh() -> Self {
        let database = fresh_database().await;
        let pool = PgPoolOptions::new().max_connections(30).connect_with(database.options.clone()).await.unwrap();
        Self { pool, _database: database }
    }
}
