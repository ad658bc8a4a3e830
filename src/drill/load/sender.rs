//! The provider: posts letters to the receivers, writes each attempt down before and after, and repeats what was not answered,
//! as an operator does who presses "Redeliver".

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use reqwest::{Client, redirect};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::Instant};

use super::{Event, Kind, Letter, Plan, Tally};
use crate::{clock::Clock, drill::journal::Journal};

/// GitHub's own.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Until a letter is sent again.
const PAUSE_MS: std::ops::Range<u64> = 100..400;
/// Times that a letter is sent before the drill gives up on it.
const TRIES_MAX: u32 = 60;
/// One in so many lost answers is never asked for again: its outcome stays unknown.
const FORGOTTEN: u32 = 10;

/// The state of a request that reached nobody.
pub const UNREACHABLE: &str = "unreachable";

/// What came of one request. No status: nobody knows.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The request's number in the journal.
    pub number: u64,
    /// The status.
    pub status: Option<u16>,
    /// `accepted`, `duplicate`, `conflict`, or a problem's title.
    pub state: Option<String>,
    /// The receipt that it names.
    pub receipt: Option<String>,
}

impl Answer {
    /// Whether the sender may take it for stored.
    pub fn is_acknowledged(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status) || status == 409)
    }

    /// Whether it may be stored although nobody said so.
    pub fn is_lost(&self) -> bool {
        self.status.is_none() && self.state.is_none()
    }

    /// Whether sending again may help.
    fn is_worth_repeating(&self) -> bool {
        self.status.is_none_or(|status| status >= 500 || status == 429)
    }
}

/// Sends, and writes down what it sends.
#[derive(Debug)]
pub struct Sender {
    client: Client,
    receivers: Vec<(String, SocketAddr)>,
    journal: Journal,
    count: AtomicU64,
    tally: Tally,
    clock: Clock,
}

impl Sender {
    /// To these receivers.
    ///
    /// # Errors
    /// When no client can be set up.
    pub fn new(receivers: Vec<(String, SocketAddr)>, journal: Journal, connections: usize) -> anyhow::Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "the drill's sender is a provider: no part of the product")]
        let builder = Client::builder();
        let client = builder
            .redirect(redirect::Policy::none())
            .no_proxy()
            .http1_only()
            .retry(reqwest::retry::never())
            .tls_certs_only([])
            .tcp_nodelay(true)
            .pool_max_idle_per_host(connections)
            .timeout(TIMEOUT)
            .build()
            .context("failed to set up the drill's sender")?;
        Ok(Self {
            client,
            receivers,
            journal,
            count: AtomicU64::new(0),
            tally: Tally::default(),
            clock: Clock::system(),
        })
    }

    /// What was sent so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Sends all of a plan, over many connections. Returns when everything is acknowledged, refused or given up.
    ///
    /// # Errors
    /// When the journal takes no more.
    pub async fn send_all(self: &Arc<Self>, plan: &Plan, connections: usize, seed: u64) -> anyhow::Result<()> {
        let begun = Instant::now();
        let mut tasks = JoinSet::new();
        for connection in 0..connections {
            let own: Vec<Event> = plan.events.iter().filter(|event| event.connection == connection).cloned().collect();
            let (sender, mut rng) = (self.clone(), StdRng::seed_from_u64(seed ^ connection as u64));
            tasks.spawn(async move {
                for event in own {
                    tokio::time::sleep_until(begun + event.at).await;
                    sender.send_event(&event, &mut rng).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.context("a sender broke down")??;
        }
        Ok(())
    }

    async fn send_event(&self, event: &Event, rng: &mut StdRng) -> anyhow::Result<()> {
        let letter = event.letter();
        let variant = event.kind.variant();
        let first = rng.random_range(0..self.receivers.len());
        if matches!(event.kind, Kind::Forged(_)) {
            let answer = self.post(event, &letter, variant, first, None).await?;
            self.tally.end(&answer);
            return Ok(());
        }
        let acknowledged = if event.is_twinned {
            let (one, two) = tokio::join!(
                self.post(event, &letter, variant, first, None),
                self.post(event, &letter, "duplicate", first + 1, None),
            );
            if one?.is_acknowledged() | two?.is_acknowledged() {
                self.tally.acknowledge();
                true
            } else {
                self.insist(event, &letter, variant, rng).await?
            }
        } else {
            self.insist(event, &letter, variant, rng).await?
        };
        // What may not be there has no duplicate, and the other payload would be the first.
        if acknowledged && event.is_repeated {
            self.insist(event, &letter, "duplicate", rng).await?;
        }
        if acknowledged && event.is_conflicting {
            self.insist(event, &event.conflicting_letter(), "conflict", rng).await?;
        }
        Ok(())
    }

    /// Sends until it is acknowledged. False: it was refused, or its outcome stays unknown.
    async fn insist(&self, event: &Event, letter: &Letter, variant: &str, rng: &mut StdRng) -> anyhow::Result<bool> {
        let mut first_number = None;
        for _ in 0..TRIES_MAX {
            let receiver = rng.random_range(0..self.receivers.len());
            let answer = self.post(event, letter, variant, receiver, first_number).await?;
            first_number = first_number.or(Some(answer.number));
            let is_forgotten = answer.is_lost() && rng.random_range(0..FORGOTTEN) == 0;
            if !answer.is_worth_repeating() || is_forgotten {
                self.tally.end(&answer);
                return Ok(answer.is_acknowledged());
            }
            tokio::time::sleep(Duration::from_millis(rng.random_range(PAUSE_MS))).await;
        }
        self.tally.give_up();
        Ok(false)
    }

    /// Sends once, with a line in the journal before and one after.
    async fn post(
        &self,
        event: &Event,
        letter: &Letter,
        variant: &str,
        receiver: usize,
        first: Option<u64>,
    ) -> anyhow::Result<Answer> {
        let (name, address) = &self.receivers[receiver % self.receivers.len()];
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let hostile = if let Kind::Hostile(kind) = event.kind { Some(kind) } else { None };
        self.tally.send(variant);
        self.journal.write(&json!({
            "n": number, "phase": "before", "at_us": self.now(), "receiver": name, "source": "github",
            "delivery_id": letter.delivery_id, "key": event.key(), "seq_in_key": event.moment.seq,
            "event_time": event.moment.time, "body_sha256": letter.digest(), "variant": variant, "hostile": hostile,
            "resend_of": first,
        }))?;
        let answer = Answer { number, ..self.exchange(*address, letter).await };
        self.journal.write(&json!({
            "n": number, "phase": "after", "at_us": self.now(), "status": answer.status, "state": answer.state,
            "receipt": answer.receipt,
        }))?;
        self.tally.answer(&answer);
        Ok(answer)
    }

    /// The bare exchange, which scenes use too.
    pub async fn exchange(&self, address: SocketAddr, letter: &Letter) -> Answer {
        let mut request = self.client.post(format!("http://{address}/hooks/github")).body(letter.body.clone());
        request = request.header("x-github-delivery", &letter.delivery_id).header("x-github-event", letter.event);
        request = request.header("content-type", "application/json").header("user-agent", "GitHub-Hookshot/drill");
        if let Some(signature) = &letter.signature {
            request = request.header("x-hub-signature-256", signature);
        }
        let answered = async {
            let response = request.send().await?;
            let status = response.status().as_u16();
            Ok::<_, reqwest::Error>((status, response.bytes().await?))
        };
        match answered.await {
            Ok((status, body)) => {
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                let text = |name: &str| body[name].as_str().map(str::to_owned);
                Answer {
                    number: 0,
                    status: Some(status),
                    state: text("status").or_else(|| text("title")),
                    receipt: text("receipt"),
                }
            }
            // Where no connection came about, nobody has the letter. In all other cases nobody knows.
            Err(error) => {
                let state = error.is_connect().then(|| UNREACHABLE.to_owned());
                Answer { number: 0, status: None, state, receipt: None }
            }
        }
    }

    fn now(&self) -> i64 {
        self.clock.now().timestamp_micros()
    }
}
