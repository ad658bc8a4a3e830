//! One PostgreSQL for the whole run, and a database of its own for each test: takes nothing, gives an empty migrated
//! database that goes away with its value.
//!
//! Under nextest each test is a process. The first one starts a keeper (`keeper.rs`), which starts the server, and stops and
//! deletes it when no test has used it for a while. So it works alike with `cargo nextest run`, `cargo test`, one test in an
//! editor and `make test`, and a killed run leaves nothing behind. With `ONCEHOOK_TEST_DATABASE_URL` (a role that may
//! create databases) that server is used instead.

use std::{
    fs::File,
    sync::atomic::{AtomicU32, Ordering},
};

use oncehook::store::migrate::{migrate, migrations};
use sha2::{Digest as _, Sha256};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions};
use tokio::sync::OnceCell;

use super::keeper;

/// A migrated database for one test. Dropping it drops the database.
#[derive(Debug)]
pub struct TestDatabase {
    /// How to connect to it.
    pub options: PgConnectOptions,
    url: String,
    name: String,
    maintenance: PgConnectOptions,
}

/// The server, once per process; holding the lock tells the keeper that it is in use.
struct Server {
    base_url: String,
    template: String,
    _in_use: File,
}

static SERVER: OnceCell<Server> = OnceCell::const_new();

/// Makes a database with the newest schema and nothing in it.
pub async fn fresh_database() -> TestDatabase {
    let server = SERVER.get_or_init(find_or_start).await;
    create(server, Some(&server.template)).await
}

/// Makes a database without any schema.
pub async fn empty_database() -> TestDatabase {
    create(SERVER.get_or_init(find_or_start).await, None).await
}

impl TestDatabase {
    /// The same as a URL, for programs that are started.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Opens a plain connection.
    pub async fn connect(&self) -> PgConnection {
        self.options.connect().await.expect("the test's database can be reached")
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let statement = format!("drop database if exists {} with (force)", self.name);
        let maintenance = self.maintenance.clone();
        // A thread with a runtime of its own: this may run inside of the test's runtime, where one may not block on another.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
            runtime.block_on(async {
                let mut connection = maintenance.connect().await?;
                execute(&mut connection, &statement).await?;
                connection.close().await
            })
        });
        // A test may have ended the server; then its databases end with it.
        let _ = dropped.join();
    }
}

async fn create(server: &Server, template: Option<&str>) -> TestDatabase {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let maintenance = options_of(&server.base_url);
    let mut connection = maintenance.connect().await.expect("the test server can be reached");
    // A process of an earlier run may have had the same number, and have been killed.
    execute(&mut connection, &format!("drop database if exists {name} with (force)")).await.expect("it can be dropped");
    let template = template.unwrap_or("template0");
    execute(&mut connection, &format!("create database {name} template {template}")).await.expect("it can be made");
    connection.close().await.expect("the connection closes");
    let mut url = url::Url::parse(&server.base_url).expect("the URL was used before");
    url.set_path(&name);
    TestDatabase { options: maintenance.clone().database(&name), url: url.to_string(), name, maintenance }
}

async fn find_or_start() -> Server {
    let startup = keeper::lock("lock").await;
    let in_use = keeper::enter();
    #[expect(clippy::disallowed_methods, reason = "this is how a person points the tests at a server")]
    let base_url = match std::env::var("ONCEHOOK_TEST_DATABASE_URL") {
        Ok(url) => url,
        Err(_) => keeper::find_or_start().await,
    };
    let template = ensure_template(&base_url).await;
    drop(startup);
    Server { base_url, template, _in_use: in_use }
}

/// Migrates one database, to be copied for each test: copying takes a tenth of the time. Its name says which migrations.
async fn ensure_template(base_url: &str) -> String {
    let mut hash = Sha256::new();
    migrations().iter().for_each(|migration| hash.update(&migration.checksum));
    let name = format!("template_{}", hex::encode(&hash.finalize()[..6]));
    let maintenance = options_of(base_url);
    let mut connection = maintenance.connect().await.expect("the test server can be reached");
    let is_there: bool = sqlx::query_scalar("select exists (select from pg_database where datname = $1)")
        .bind(&name)
        .fetch_one(&mut connection)
        .await
        .expect("databases can be listed");
    if !is_there {
        // Under another name until it is whole, since this process may be killed in between.
        let unfinished = format!("{name}_unfinished");
        execute(&mut connection, &format!("drop database if exists {unfinished} with (force)")).await.expect("dropped");
        execute(&mut connection, &format!("create database {unfinished} template template0")).await.expect("made");
        migrate(&maintenance.clone().database(&unfinished)).await.expect("an empty database can be migrated");
        execute(&mut connection, &format!("alter database {unfinished} rename to {name}")).await.expect("renamed");
    }
    connection.close().await.expect("the connection closes");
    name
}

fn options_of(url: &str) -> PgConnectOptions {
    url.parse::<PgConnectOptions>().expect("the URL is one of PostgreSQL").disable_statement_logging()
}

async fn execute(connection: &mut PgConnection, statement: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(connection).await.map(drop)
}
