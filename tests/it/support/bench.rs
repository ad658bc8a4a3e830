//! A bench to try `run` on: a database, a recorder that writes what recording writes, a deliverer with a script, and
//! draining by hand.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use oncehook::{
    blueprint::Blueprint,
    clock::Clock,
    config::{self, Config},
    domain::{DeliveryRef, DeliveryState, JobId, LaneKey, OrderingKey, ReceiptId},
    figures::Figures,
    run::{Context, Doorbell, Stop, drain_due},
    store::jobs::{RunAt, Work, insert_job},
};
use sqlx::{PgConnection, PgPool};

use super::{database::Database, invariants::assert_lane_invariants, script::Script};

pub struct Bench {
    pub ctx: Context,
    pub script: Arc<Script>,
    // Dropped last.
    pub database: Database,
}

pub const ROUTE: &str = "deploy";

impl Bench {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// With settings of its own.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let database = Database::fresh().await;
        let script = Arc::new(Script::default());
        let mut config = settings();
        change(&mut config);
        let ctx = Context {
            pool: database.pool.clone(),
            live: blueprint(config).live(),
            deliverer: script.clone(),
            doorbell: Doorbell::default(),
            stop: Stop::default(),
            figures: Figures::default(),
        };
        Self { ctx, script, database }
    }

    /// Changes the configuration while everything runs.
    pub fn reload(&self, change: impl FnOnce(&mut Config)) {
        let mut config = (*self.ctx.live.load().config).clone();
        change(&mut config);
        self.ctx.live.store(Arc::new(blueprint(config)));
    }

    pub fn pool(&self) -> &PgPool {
        &self.ctx.pool
    }

    /// Records one event with one delivery, in a lane or without, and rings.
    pub async fn record(&self, key: Option<&str>) -> DeliveryRef {
        let mut tx = self.pool().begin().await.unwrap();
        let delivery = record(&mut tx, key).await;
        tx.commit().await.unwrap();
        self.ctx.doorbell.ring();
        delivery
    }

    pub async fn record_many(&self, key: &str, count: usize) -> Vec<DeliveryRef> {
        let mut deliveries = Vec::new();
        for _ in 0..count {
            deliveries.push(self.record(Some(key)).await);
        }
        deliveries
    }

    /// Runs what is due until nothing is, and checks what must always hold.
    pub async fn drain(&self) -> usize {
        let mut jobs = 0;
        loop {
            let round = drain_due(&self.ctx, "host/1/by-hand").await.unwrap();
            self.check().await;
            if round == 0 {
                return jobs;
            }
            jobs += round;
        }
    }

    pub async fn check(&self) {
        assert_lane_invariants(&mut self.pool().acquire().await.unwrap()).await;
    }

    /// Moves the database's clock, as seen by `oncehook.now()`, to so many seconds after the real one.
    pub async fn set_clock(&self, seconds_ahead: i32) {
        let sql = format!(
            "create or replace function oncehook.now() returns timestamptz language sql stable parallel safe
             as 'select pg_catalog.now() + interval ''{seconds_ahead} s'''"
        );
        self.run_sql(&sql).await;
    }

    pub async fn run_sql(&self, sql: &str) -> u64 {
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(self.pool()).await.unwrap().rows_affected()
    }

    pub async fn state(&self, delivery: DeliveryRef) -> DeliveryState {
        self.column::<String>(delivery, "state").await.parse().unwrap()
    }

    /// One column of a delivery, as text reads it.
    pub async fn column<T>(&self, delivery: DeliveryRef, name: &str) -> T
    where
        T: Send + Unpin + sqlx::Type<sqlx::Postgres> + for<'r> sqlx::Decode<'r, sqlx::Postgres>,
    {
        let sql = format!("select {name} from oncehook.deliveries where id = $1");
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).bind(delivery.uuid()).fetch_one(self.pool()).await.unwrap()
    }

    /// Number, outcome and reason of each attempt, in order. An open one has neither.
    pub async fn attempts(&self, delivery: DeliveryRef) -> Vec<(i32, Option<String>, Option<String>)> {
        sqlx::query_as("select number, outcome, reason from oncehook.attempts where delivery = $1 order by number")
            .bind(delivery.uuid())
            .fetch_all(self.pool())
            .await
            .unwrap()
    }

    pub async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(self.pool()).await.unwrap()
    }

    /// Waits until a statement of another connection waits for a lock.
    pub async fn until_somebody_waits_for_a_lock(&self) {
        while self
            .count(
                "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
            )
            .await
            == 0
        {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until every delivery is finished.
    pub async fn until_all_are_finished(&self) {
        while self.count("select count(*) from oncehook.deliveries where finished_at is null").await > 0 {
            tokio::task::yield_now().await;
        }
    }
}

fn blueprint(config: Config) -> Blueprint {
    Blueprint::of(Arc::new(config), &Clock::system()).unwrap()
}

pub fn lane(key: &str) -> LaneKey {
    LaneKey { route: ROUTE.parse().unwrap(), ordering_key: OrderingKey::new(key) }
}

/// Writes what recording writes for one event with one delivery: the lane first, then receipt and delivery, then the job
/// if the lane was idle.
pub async fn record(conn: &mut PgConnection, key: Option<&str>) -> DeliveryRef {
    let (receipt, delivery, job) = (ReceiptId::new(), DeliveryRef::new(), JobId::new());
    let opens_lane = match key {
        Some(key) => open_lane(conn, key, job).await,
        None => true,
    };
    sqlx::query(
        "insert into oncehook.receipts (id, source, delivery_id, event_type, received_at, body_digest, normalised_digest, body_bytes)
         values ($1, 'github', $1::text, 'push', now(), sha256(''), sha256(''), 2)",
    )
    .bind(receipt.uuid())
    .execute(&mut *conn)
    .await
    .unwrap();
    sqlx::query("insert into oncehook.payloads (receipt_id, headers, body) values ($1, 'a: b', '{}')")
        .bind(receipt.uuid())
        .execute(&mut *conn)
        .await
        .unwrap();
    sqlx::query(
        "insert into oncehook.deliveries (id, receipt_id, route, destination, ordering_key, job_id, state)
         values ($1, $2, 'deploy', 'deployer', $3, $4, $5)",
    )
    .bind(delivery.uuid())
    .bind(receipt.uuid())
    .bind(key)
    .bind(key.is_none().then(|| job.to_string()))
    .bind(if opens_lane { "queued" } else { "waiting" })
    .execute(&mut *conn)
    .await
    .unwrap();
    if opens_lane {
        let work = key.map_or(Work::Delivery(delivery), |key| Work::Lane(lane(key)));
        insert_job(conn, job, &work, RunAt::Now).await.unwrap();
    }
    delivery
}

async fn open_lane(conn: &mut PgConnection, key: &str, job: JobId) -> bool {
    let row: Option<String> = sqlx::query_scalar(
        "insert into oncehook.lanes (route, ordering_key, job_id) values ('deploy', $1, $2)
         on conflict (route, ordering_key) do update set job_id = lanes.job_id where false returning job_id",
    )
    .bind(key)
    .bind(job.to_string())
    .fetch_optional(conn)
    .await
    .unwrap();
    row.is_some()
}

/// Settings that suit a test: one route, one destination, five attempts.
fn settings() -> Config {
    let loopback = "127.0.0.1:0".parse().unwrap();
    let second = Duration::from_secs(1);
    let kind = config::DestinationKind::Log;
    let deployer = config::Destination { name: "deployer".parse().unwrap(), kind, concurrency: None, pace: None };
    Config {
        data_dir: std::path::PathBuf::new(),
        database: config::Database { url: None, connections_max: 20, acquire_timeout: 5 * second },
        intake: config::Intake {
            listen: loopback,
            threads: 1,
            connections_max: 100,
            in_flight_bytes_max: 1 << 20,
            body_timeout: second,
            body_rate_min: 1,
            body_grace: second,
            header_bytes_max: 1 << 14,
            record_timeout: second,
        },
        admin: config::Admin { listen: loopback },
        record: config::Record { batch_rows_max: 256, batch_bytes_max: 1 << 20, queue_max: 100, arrivals_kept: 10 },
        run: config::Run {
            concurrency: 8,
            lease: 30 * second,
            heartbeat: 5 * second,
            lane_budget: 16,
            lane_budget_time: 60 * second,
            poll: second / 4,
            rescue: 5 * second,
            crashes_max: 3,
        },
        shutdown: config::Shutdown { grace: 5 * second },
        sources: BTreeMap::new(),
        destinations: [(deployer.name.clone(), deployer)].into(),
        routes: vec![config::Route {
            name: ROUTE.parse().unwrap(),
            source: "github".parse().unwrap(),
            events: vec!["*".to_owned()],
            filter: None,
            order: config::Order::Arrival,
            ordering_key: config::KeyFrom::Auto,
            on_stale: config::OnStale::Skip,
            reorder_window: Duration::ZERO,
            on_dead: config::OnDead::Continue,
            on_dead_destination: None,
            concurrency: None,
            destination: "deployer".parse().unwrap(),
            retry: config::Retry { attempts: 5, initial: 10 * second, max: 100 * second },
        }],
        warnings: Vec::new(),
    }
}
