//! The drill's own PostgreSQL: started, stopped as a crash stops it, started again. With `fsync` on and everything else as
//! the embedded one has it.

use std::time::Duration;

use anyhow::Context as _;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, Row as _, postgres::PgConnectOptions};
use tokio::sync::Mutex;

use super::home::Home;
use crate::postgres::{Embedded, Setup};

/// Where it lives in the drill's folder.
const DATA_DIR: &str = "postgresql";
/// Sessions of all processes together.
const CONNECTIONS_MAX: u16 = 300;
/// How long a question may take while the server is restarted now and then.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The server and how to reach it.
#[derive(Debug)]
pub struct Cluster {
    setup: Setup,
    running: Mutex<Option<Embedded>>,
    url: String,
}

impl Cluster {
    /// Makes and starts it.
    ///
    /// # Errors
    /// When there is no PostgreSQL on this machine, or it does not start: what to do is told.
    pub async fn start(home: &Home) -> anyhow::Result<Self> {
        let data_dir = home.file(DATA_DIR);
        let setup = Setup {
            fallback_root: home.file("postgresql-elsewhere"),
            connections_max: CONNECTIONS_MAX,
            ..Setup::new(&data_dir)
        };
        let running = setup.clone().start().await.context("failed to start the drill's PostgreSQL")?;
        let url = running.url();
        Ok(Self { setup, running: Mutex::new(Some(running)), url })
    }

    /// The URL of one of its databases; `oncehook` is there from the beginning.
    pub fn url_of(&self, database: &str) -> String {
        self.url.replacen("/oncehook?", &format!("/{database}?"), 1)
    }

    /// Stops it as `pg_ctl stop -m immediate` does, leaves it so for a while, and starts it again. Returns its process.
    ///
    /// # Errors
    /// When it does not end or does not come back.
    pub async fn crash(&self, away: Duration) -> anyhow::Result<i32> {
        let mut running = self.running.lock().await;
        let embedded = running.as_ref().context("the drill's PostgreSQL is stopped already")?;
        let pid = embedded.crash().await.context("failed to crash the drill's PostgreSQL")?;
        tokio::time::sleep(away).await;
        *running = Some(self.setup.clone().start().await.context("the drill's PostgreSQL did not come back")?);
        Ok(pid)
    }

    /// A connection of the drill's own, tried until the server is there.
    ///
    /// # Errors
    /// When it is not for half a minute.
    pub async fn connect(&self, database: &str) -> anyhow::Result<PgConnection> {
        connect(&self.url_of(database)).await
    }

    /// The sessions of the product's processes: the server's process of each.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn backends(&self) -> anyhow::Result<Vec<i32>> {
        let mut conn = self.connect("oncehook").await?;
        let rows = sqlx::query(
            "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() order by pid",
        );
        let rows = rows.fetch_all(&mut conn).await.context("failed to list the sessions")?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Ends a session by SQL.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn terminate(&self, backend: i32) -> anyhow::Result<bool> {
        let mut conn = self.connect("oncehook").await?;
        let ended = sqlx::query_scalar("select pg_terminate_backend(pid) from pg_stat_activity where pid = $1");
        let ended: Option<bool> =
            ended.bind(backend).fetch_optional(&mut conn).await.context("failed to end a session")?;
        Ok(ended == Some(true))
    }
}

/// Stops the server of a drill for good, if it runs. Its [`Cluster`] is gone by then, perhaps in the middle of a start.
pub async fn stop(home: &Home) {
    let stopped = async {
        match Embedded::attach(&home.file(DATA_DIR)).await? {
            Some(embedded) => embedded.stop().await.map(drop),
            None => Ok(()),
        }
    };
    if let Err(error) = stopped.await {
        tracing::warn!(%error, "the drill's PostgreSQL did not stop");
    }
}

/// Connects, again and again while the server is away.
///
/// # Errors
/// When it is away for too long, or refuses.
pub async fn connect(url: &str) -> anyhow::Result<PgConnection> {
    let options: PgConnectOptions = url.parse().context("the drill's URL does not read")?;
    let options = options.disable_statement_logging().application_name("oncehook drill");
    let begun = tokio::time::Instant::now();
    loop {
        let failed = match options.connect().await {
            Ok(mut conn) => match conn.ping().await {
                Ok(()) => return Ok(conn),
                Err(error) => error,
            },
            Err(error) => error,
        };
        if begun.elapsed() > ANSWER_WITHIN {
            return Err(failed).context("failed to connect to the drill's PostgreSQL");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
