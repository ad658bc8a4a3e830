//! A fresh, migrated database for one test. The one place that knows where tests get their PostgreSQL.

use oncehook::store::pool::guarded;
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

/// A database of its own, dropped with this value.
pub struct Database {
    pub pool: PgPool,
    name: String,
}

fn server() -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass().host("/tmp/devpg").username("postgres")
}

impl Database {
    pub async fn fresh() -> Self {
        let name = format!("t_run_{}", ulid::Ulid::generate().to_string().to_lowercase());
        let admin = PgPoolOptions::new().max_connections(1).connect_with(server().database("postgres")).await.unwrap();
        let create = format!("create database {name} template tpl_run");
        sqlx::query(sqlx::AssertSqlSafe(create)).execute(&admin).await.unwrap();
        admin.close().await;
        let options = PgPoolOptions::new().max_connections(30).test_before_acquire(false);
        let pool = guarded(options).connect_with(server().database(&name)).await.unwrap();
        Self { pool, name }
    }
}

impl Database {
    /// Connections that stay when a test breaks the others.
    pub async fn observer(&self) -> PgPool {
        let options = server().database(&self.name).application_name("observer");
        PgPoolOptions::new().max_connections(2).connect_with(options).await.unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = std::process::Command::new("dropdb")
            .args(["-h", "/tmp/devpg", "-U", "postgres", "--force", "--if-exists", &self.name])
            .status();
    }
}
