//! Where the scenes play: receivers and workers on a database of their own, a consumer within the drill whose every answer the
//! scene decides, and one in a process of its own that dies on cue.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use rand::{SeedableRng as _, rngs::StdRng};
use sqlx::{PgConnection, Row as _};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use crate::drill::{
    Ground,
    cluster::{self, Cluster},
    fleet::{Fleet, Site, Way},
    home::Home,
    journal::Journal,
    load::{Answer, Letter, Moment, Sender, body_of, event_of},
    member::{self, Member, Recipe},
    sink::{self, Call, Effect, Reply},
};

const DATABASE: &str = "scenes";
const NODES: usize = 2;
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// A call that the consumer has and has not answered.
pub struct PendingCall {
    /// What was asked of it.
    pub effect: Effect,
    answer: oneshot::Sender<Reply>,
}

/// See the module.
pub struct Stage {
    /// The processes.
    pub fleet: Fleet,
    /// The consumer that dies on cue, and its journal.
    pub mortal: Arc<Member>,
    /// Its journal.
    pub mortal_journal: PathBuf,
    /// Where the consumer within the drill listens.
    pub consumer: SocketAddr,
    sender: Sender,
    calls: mpsc::UnboundedReceiver<PendingCall>,
    database_url: String,
    letters: u64,
    tasks: JoinSet<()>,
}

impl Stage {
    /// Builds it.
    ///
    /// # Errors
    /// When a process does not come up.
    pub async fn set(ground: &Ground<'_>) -> anyhow::Result<Self> {
        let Ground { home, roster, cluster } = ground;
        let mut conn = cluster.connect("oncehook").await?;
        sqlx::query("create database scenes")
            .execute(&mut conn)
            .await
            .context("failed to make the scenes' database")?;
        let mut tasks = JoinSet::new();
        let (consumer, calls) = open_consumer(&mut tasks).await?;
        let mortal_journal = home.file("scenes-effects.jsonl");
        let mortal = roster.add(mortal_recipe(home, &mortal_journal)?);
        let keeper = mortal.clone();
        tasks.spawn(async move { drop(keeper.keep().await) });
        mortal.until_up().await?;
        let way = |name, source, address: SocketAddr, events| Way {
            name,
            source,
            destination: format!("kind = \"http\"\nurl = \"http://{address}/\"\ntimeout = \"10s\""),
            order: "arrival",
            events,
        };
        let database_url = cluster.url_of(DATABASE);
        let ways = vec![
            way("consumer", "github", consumer, "push"),
            way("mortal", "github", mortal.address(), "issues"),
            way("publisher", "outbox", consumer, "*"),
        ];
        let site = Site { name: "scenes-", database_url: database_url.clone(), ways, control: None };
        site.migrate(ground).await?;
        let fleet = Fleet::start(ground, &site, NODES).await?;
        let journal = Journal::open(&home.file("scenes-sends.jsonl"))?;
        let sender = Sender::new(Vec::new(), journal, NODES)?;
        Ok(Self { fleet, mortal, mortal_journal, consumer, sender, calls, database_url, letters: 0, tasks })
    }

    /// A letter about a subject of its own: odd ones are pushes, even ones issues.
    pub fn letter(&mut self, event: &str) -> Letter {
        self.letters += 1;
        let subject = self.letters * 2 + u64::from(event == "push");
        let mut rng = StdRng::seed_from_u64(subject);
        let body = body_of(Moment { subject, seq: 1, time: 1_767_225_600 }, "a scene", &mut rng);
        Letter::sealed(&uuid::Uuid::from_u128(u128::from(subject)).to_string(), event_of(subject), body)
    }

    /// Posts it to one of the receivers.
    pub async fn post(&self, receiver: usize, letter: &Letter) -> Answer {
        self.sender.exchange(self.fleet.intakes[receiver % NODES], letter).await
    }

    /// Posts it straight to the consumer, as a provider does where there is no Oncehook, and lets it act.
    ///
    /// # Errors
    /// When the consumer is gone.
    pub async fn post_directly(&mut self, letter: &Letter) -> anyhow::Result<(Answer, Effect)> {
        let acting = async {
            let call = self.calls.recv().await.context("the consumer is gone")?;
            let effect = call.effect.clone();
            call.answer(200);
            anyhow::Ok(effect)
        };
        let (answer, effect) = tokio::join!(self.sender.exchange(self.consumer, letter), acting);
        Ok((answer, effect?))
    }

    /// The next call at the consumer.
    ///
    /// # Errors
    /// When the consumer is gone. Scenes have a time limit of their own.
    pub async fn next_call(&mut self) -> anyhow::Result<PendingCall> {
        self.calls.recv().await.context("the consumer is gone")
    }

    /// Forgets what a scene left over.
    pub fn clear(&mut self) {
        while self.calls.try_recv().is_ok() {}
    }

    /// Makes sure that the consumer was not called once more.
    ///
    /// # Errors
    /// When it was.
    pub fn ensure_no_call(&mut self) -> anyhow::Result<()> {
        match self.calls.try_recv() {
            Ok(call) => anyhow::bail!("the consumer was called once more, in attempt {}", call.effect.attempt),
            Err(_) => Ok(()),
        }
    }

    /// A connection to the scenes' database.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn connect(&self) -> anyhow::Result<PgConnection> {
        cluster::connect(&self.database_url).await
    }

    /// Waits until the event's delivery has ended: its state, and how many attempts it took.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn until_finished(&self, letter: &Letter) -> anyhow::Result<(String, i32)> {
        let mut conn = self.connect().await?;
        loop {
            let row = sqlx::query(
                "select d.state, d.attempts from oncehook.deliveries d join oncehook.receipts r on r.id = d.receipt_id
                 where r.delivery_id = $1 and d.finished_at is not null",
            );
            if let Some(row) = row.bind(&letter.delivery_id).fetch_optional(&mut conn).await? {
                return Ok((row.get(0), row.get(1)));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// A count that a query gives for the event.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn count(&self, query: &'static str, letter: &Letter) -> anyhow::Result<i64> {
        let mut conn = self.connect().await?;
        Ok(sqlx::query_scalar(query).bind(&letter.delivery_id).fetch_one(&mut conn).await?)
    }

    /// `kill -9` of the worker that holds the event's delivery.
    ///
    /// # Errors
    /// When nobody holds it.
    pub async fn kill_its_worker(&self, letter: &Letter) -> anyhow::Result<()> {
        let mut conn = self.connect().await?;
        let holder: String = sqlx::query_scalar(
            "select d.leased_by from oncehook.deliveries d join oncehook.receipts r on r.id = d.receipt_id
             where r.delivery_id = $1 and d.state = 'running'",
        )
        .bind(&letter.delivery_id)
        .fetch_one(&mut conn)
        .await
        .context("nobody holds the delivery")?;
        let pid: i32 =
            holder.split('/').nth(1).and_then(|pid| pid.parse().ok()).context("a worker without a number")?;
        let is_ours = self.fleet.workers.iter().any(|worker| worker.pid() == Some(pid));
        anyhow::ensure!(is_ours, "the delivery is held by process {pid}, which is none of ours");
        kill(Pid::from_raw(pid), Signal::SIGKILL).context("failed to kill the worker")
    }

    /// Takes it down, with its database: a crash recovery syncs every file that there is.
    ///
    /// # Errors
    /// When the database is not to be dropped.
    pub async fn strike(mut self, cluster: &Cluster) -> anyhow::Result<()> {
        self.fleet.end().await;
        self.mortal.end();
        self.tasks.shutdown().await;
        let mut conn = cluster.connect("oncehook").await?;
        let dropped = sqlx::query("drop database scenes with (force)").execute(&mut conn).await;
        dropped.context("failed to drop the scenes' database").map(drop)
    }
}

impl PendingCall {
    /// Answers it.
    pub fn answer(self, status: u16) {
        // A caller that was killed does not wait.
        let _ = self.answer.send(Reply::Status(status));
    }

    /// Breaks off in the middle of an answer.
    pub fn lose_answer(self) {
        let _ = self.answer.send(Reply::Reset);
    }
}

async fn open_consumer(tasks: &mut JoinSet<()>) -> anyhow::Result<(SocketAddr, mpsc::UnboundedReceiver<PendingCall>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("the scenes' consumer cannot listen")?;
    let address = listener.local_addr().context("the scenes' consumer has no address")?;
    let (told, calls) = mpsc::unbounded_channel();
    let handle = move |call: Call| {
        let (answer, decided) = oneshot::channel();
        let is_told = told.send(PendingCall { effect: Effect::of(&call), answer }).is_ok();
        async move { if is_told { decided.await.unwrap_or(Reply::Hang) } else { Reply::Hang } }
    };
    tasks.spawn(async move { drop(sink::serve(listener, handle).await) });
    Ok((address, calls))
}

fn mortal_recipe(home: &Home, journal: &std::path::Path) -> anyhow::Result<Recipe> {
    let address = member::free_address()?;
    let path = |path: PathBuf| path.to_string_lossy().into_owned();
    let arguments = ["drill-sink", "--idempotent", "--listen", &address.to_string(), "--journal"].map(str::to_owned);
    let rest = [path(journal.to_owned()), "--die-once".to_owned(), path(home.file("scenes-has-died"))];
    Ok(Recipe {
        name: "scenes-consumer".to_owned(),
        arguments: arguments.into_iter().chain(rest).collect(),
        environment: Vec::new(),
        address,
        log: home.log_of("scenes-consumer"),
    })
}
