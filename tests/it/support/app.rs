//! A whole appliance in the test's process: the real one, on ports of its own and a database of its own, with workers that
//! run when the test says so and a clock that moves when the test says so.

use std::sync::OnceLock;

use chrono::TimeDelta;
use oncehook::{
    app::{App, Role},
    clock::Clock,
    config::{self, Environment, LoadOptions},
    handler::Handlers,
    run,
};
use sqlx::PgConnection;
use tempfile::TempDir;

use super::{
    clock,
    cluster::{self, TestDatabase},
    sender::Sender,
    wire::Wire,
};

/// The secret of the source `github` in tests.
pub const GITHUB_SECRET: &str = "ghsecret-0123456789";
/// The secret of the source `stripe` in tests.
pub const STRIPE_SECRET: &str = "whsec_test_AAAABBBBCCCCDDDD";
/// The secret of the source `standard` in tests.
pub const STANDARD_SECRET: &str = "whsec_dGVzdHMgb2Ygb25jZWhvb2sgdXNlIHRoaXM=";

/// The secret of the caller `shop` in tests: it can sign, too.
pub const SHOP_TOKEN: &str = "whsec_c2hvcCBvZiB0aGUgdGVzdHMgb2Ygb25jZWhvb2s=";
/// The secret that the caller `shop` had before.
pub const SHOP_TOKEN_OLD: &str = "shop-old-0123456789-abcdef";
/// The secret of the caller `depot`, which can only be a bearer token.
pub const DEPOT_TOKEN: &str = "depot-0123456789-abcdef";

/// Three sources, each with a route that logs, and every limit at its default. Ports are the system's choice.
const CONFIG: &str = r#"
[intake]
listen = "127.0.0.1:0"
threads = 1
[admin]
listen = "127.0.0.1:0"
[sources.github]
provider = "github"
secrets = [{ env = "GITHUB_SECRET" }]
[sources.stripe]
provider = "stripe"
secrets = [{ env = "STRIPE_SECRET" }]
[sources.standard]
provider = "standard_webhooks"
secrets = [{ env = "STANDARD_SECRET" }]
[destinations.demo]
kind = "log"
[[routes]]
name = "github-demo"
source = "github"
events = ["*"]
destination = "demo"
[[routes]]
name = "stripe-demo"
source = "stripe"
events = ["*"]
destination = "demo"
[[routes]]
name = "standard-demo"
source = "standard"
events = ["*"]
destination = "demo"
"#;

/// A running appliance under test. Dropping it fails the test if deliveries are unfinished, unless the test says so.
pub struct TestApp {
    app: Option<App>,
    clock: Clock,
    database: TestDatabase,
    database_url: String,
    config_text: String,
    folder: TempDir,
    handlers: Handlers,
    /// Made once: a client reads the system's certificates, which takes longer than a test.
    sender: OnceLock<Sender>,
    may_leave_work: bool,
}

impl TestApp {
    /// With the configuration above.
    pub async fn start() -> Self {
        Self::start_with("").await
    }

    /// With the configuration above and `more` TOML behind it. `{folder}` stands for a folder of the test's.
    pub async fn start_with(more: &str) -> Self {
        Self::start_from(&format!("{CONFIG}\n{more}")).await
    }

    /// With another configuration altogether.
    pub async fn start_from(config_text: &str) -> Self {
        Self::start_with_handlers(config_text, Handlers::new()).await
    }

    /// With another configuration and Rust handlers.
    pub async fn start_with_handlers(config_text: &str, handlers: Handlers) -> Self {
        Self::start_on(cluster::fresh_database().await, config_text, handlers).await
    }

    /// With another configuration altogether, and a way to the database that can be cut.
    pub async fn start_from_behind_wire(config_text: &str) -> (Self, Wire) {
        let database = cluster::fresh_database().await;
        let wire = Wire::to(&database).await;
        let url = wire.url();
        (Self::start_by(database, url, config_text, Handlers::new()).await, wire)
    }

    /// The configuration above with `more` keys in one of its tables, or in a new one.
    pub fn config_with(table: &str, more: &str) -> String {
        let lines = format!("{table}\n{more}\n");
        if CONFIG.contains(table) {
            CONFIG.replace(&format!("{table}\n"), &lines)
        } else {
            format!("{CONFIG}\n{lines}")
        }
    }

    /// With the configuration above and `lines` under `[intake]`.
    pub async fn start_with_intake(lines: &str) -> Self {
        Self::start_from(&CONFIG.replace("[intake]", &format!("[intake]\n{lines}"))).await
    }

    /// With the configuration above, on a database that the test has changed.
    pub async fn start_in(database: TestDatabase, more: &str) -> Self {
        Self::start_on(database, &format!("{CONFIG}\n{more}"), Handlers::new()).await
    }

    /// With the configuration above, and a way to the database that can be cut.
    pub async fn start_behind_wire(more: &str) -> (Self, Wire) {
        Self::start_from_behind_wire(&format!("{CONFIG}\n{more}")).await
    }

    async fn start_on(database: TestDatabase, config_text: &str, handlers: Handlers) -> Self {
        let url = database.url().to_owned();
        Self::start_by(database, url, config_text, handlers).await
    }

    async fn start_by(database: TestDatabase, database_url: String, config_text: &str, handlers: Handlers) -> Self {
        let mut conn = database.connect().await;
        clock::make_movable(&mut conn).await;
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let app = start_app(&database_url, config_text, &folder, &clock, RECEIVER, &handlers).await;
        let config_text = config_text.to_owned();
        Self {
            app: Some(app),
            clock,
            database,
            database_url,
            config_text,
            folder,
            handlers,
            sender: OnceLock::new(),
            may_leave_work: false,
        }
    }

    /// A second process on the same database, as far as one process can be two.
    pub async fn another(&self) -> App {
        start_app(&self.database_url, &self.config_text, &self.folder, &self.clock, RECEIVER, &self.handlers).await
    }

    /// A process on the same database that runs deliveries by itself, until it is stopped.
    pub async fn another_that_works(&self) -> App {
        let role = Role { receives: false, works: true };
        start_app(&self.database_url, &self.config_text, &self.folder, &self.clock, role, &self.handlers).await
    }

    /// The appliance.
    pub fn app(&self) -> &App {
        self.app.as_ref().expect("it runs until it is stopped")
    }

    /// Someone who posts to it.
    pub fn sender(&self) -> Sender {
        self.sender.get_or_init(|| Sender::to(self.app().intake_address().unwrap(), self.clock.clone())).clone()
    }

    /// A connection to its database, for looking.
    pub async fn database(&self) -> PgConnection {
        self.database.connect().await
    }

    /// The test's database.
    pub fn test_database(&self) -> &TestDatabase {
        &self.database
    }

    /// The time, as the appliance sees it.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Moves the clock of the process and of its database.
    pub async fn advance(&self, by: TimeDelta) {
        self.clock.advance(by);
        let moved = by.num_microseconds().unwrap();
        sqlx::query("update oncehook_test.clock set moved = moved + $1 * interval '1 microsecond'")
            .bind(moved)
            .execute(&mut self.database().await)
            .await
            .unwrap();
    }

    /// Runs what is due, and what becomes due by that, until nothing is. Returns how many jobs ran.
    pub async fn run_until_idle(&self) -> usize {
        let mut ran = 0;
        loop {
            match run::drain_due(self.app().context(), "by-hand").await.unwrap() {
                0 => return ran,
                jobs => ran += jobs,
            }
        }
    }

    /// One number from the database.
    pub async fn count(&self, query: &'static str) -> i64 {
        sqlx::query_scalar(query).fetch_one(&mut self.database().await).await.unwrap()
    }

    /// The states of all deliveries, with how many are in each.
    pub async fn states(&self) -> Vec<(String, i64)> {
        sqlx::query_as("select state, count(*) from oncehook.deliveries group by state order by state")
            .fetch_all(&mut self.database().await)
            .await
            .unwrap()
    }

    /// Lets this test end with unfinished deliveries: it is about them.
    pub fn may_leave_work(&mut self) {
        self.may_leave_work = true;
    }

    /// Stops it in good order.
    pub async fn stop(&mut self) {
        if let Some(app) = self.app.take() {
            app.stop().await.unwrap();
        }
    }
}

/// Takes webhooks; deliveries are run by hand.
const RECEIVER: Role = Role { receives: true, works: false };

impl Drop for TestApp {
    fn drop(&mut self) {
        if self.may_leave_work || std::thread::panicking() {
            return;
        }
        let options = self.database.options.clone();
        let unfinished = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let mut conn = sqlx::ConnectOptions::connect(&options).await.unwrap();
                let query = "select (select count(*) from oncehook.deliveries where finished_at is null)
                                  + (select count(*) from oncehook.lanes) + (select count(*) from apalis.jobs
                                     where status <> 'Done')";
                sqlx::query_scalar::<_, i64>(query).fetch_one(&mut conn).await.unwrap()
            })
        });
        assert_eq!(unfinished.join().unwrap(), 0, "the test left deliveries, lanes or jobs behind");
    }
}

async fn start_app(
    database_url: &str,
    config_text: &str,
    folder: &TempDir,
    clock: &Clock,
    role: Role,
    handlers: &Handlers,
) -> App {
    let file = folder.path().join("oncehook.toml");
    let data_dir = folder.path().join("data");
    let text = config_text.replace("{folder}", folder.path().to_str().unwrap());
    std::fs::write(&file, format!("data_dir = {:?}\n{text}", data_dir.to_str().unwrap())).unwrap();
    let environment: Environment = [
        ("DATABASE_URL", database_url),
        ("GITHUB_SECRET", GITHUB_SECRET),
        ("STRIPE_SECRET", STRIPE_SECRET),
        ("STANDARD_SECRET", STANDARD_SECRET),
        ("SHOP_TOKEN", SHOP_TOKEN),
        ("SHOP_TOKEN_OLD", SHOP_TOKEN_OLD),
        ("DEPOT_TOKEN", DEPOT_TOKEN),
    ]
    .into_iter()
    .collect();
    let options = LoadOptions { file: Some(file), environment, may_generate: true };
    let loaded = config::load(&options).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let started = App::start_with(loaded.config, clock.clone(), role, handlers.clone()).await;
    started.unwrap_or_else(|error| panic!("{error:#}"))
}
