//! Sends what is planned, over some connections, at most so fast; stops in good order at Ctrl-C. Each request is signed when it is
//! sent: signed times grow old.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use reqwest::Client;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
    task::JoinSet,
};

use super::{folder::Piece, plan::Turn};
use crate::{
    cli::{
        colour::can_draw_progress,
        send::post::{Answer, post},
    },
    clock::Clock,
};

/// How it is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Over how many connections.
    pub(super) connections: usize,
    /// The shortest time between two requests.
    pub(super) gap: Option<Duration>,
}

/// One request that was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) turn: Turn,
    pub(super) took: Duration,
    /// When its answer had come.
    pub(super) at: Instant,
    /// Or why there was none.
    pub(super) answer: Result<Answer, String>,
}

/// What was sent, in the order planned.
pub(super) struct Sendings {
    pub(super) sent: Vec<Sent>,
    pub(super) took: Duration,
    pub(super) connections: usize,
    /// Whether somebody stopped it before its end.
    pub(super) was_stopped: bool,
}

/// What all connections share.
struct Round {
    client: Client,
    pieces: Arc<Vec<Piece>>,
    turns: Vec<Turn>,
    next: AtomicUsize,
    gap: Option<Duration>,
    began: Instant,
    /// Whether the first request of each fixture has been answered: a redelivery comes after that.
    answered: Vec<watch::Sender<bool>>,
    stopped: watch::Receiver<bool>,
    progress: ProgressBar,
}

/// Sends all turns.
///
/// # Errors
/// When Ctrl-C cannot be listened for.
pub(super) async fn send(
    client: Client,
    pieces: Arc<Vec<Piece>>,
    turns: Vec<Turn>,
    pace: Pace,
) -> anyhow::Result<Sendings> {
    // Before the first request: from then on nothing may be lost.
    let mut interrupts = signal(SignalKind::interrupt()).context("failed to listen for Ctrl-C")?;
    let (stop, stopped) = watch::channel(false);
    let planned = turns.len();
    let round = Arc::new(Round {
        client,
        answered: pieces.iter().map(|_| watch::Sender::new(false)).collect(),
        pieces,
        next: AtomicUsize::new(0),
        gap: pace.gap,
        began: Instant::now(),
        stopped,
        progress: progress(planned),
        turns,
    });
    let mut senders = JoinSet::new();
    for _ in 0..pace.connections {
        let round = Arc::clone(&round);
        senders.spawn(async move { round.take_turns().await });
    }
    let mut sent = Vec::with_capacity(planned);
    loop {
        tokio::select! {
            done = senders.join_next() => match done {
                Some(done) => sent.extend(done.unwrap_or_default()),
                None => break,
            },
            // A second one gives up the answers that are still to come.
            _ = interrupts.recv() => if stop.send_replace(true) { break },
        }
    }
    round.progress.finish_and_clear();
    sent.sort_by_key(|(place, _)| *place);
    let was_stopped = sent.len() < planned;
    let sent = sent.into_iter().map(|(_, sent)| sent).collect();
    Ok(Sendings { sent, took: round.began.elapsed(), connections: pace.connections, was_stopped })
}

impl Round {
    async fn take_turns(&self) -> Vec<(usize, Sent)> {
        let mut sent = Vec::new();
        loop {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(turn) = self.turns.get(place).copied() else { return sent };
            let mut stopped = self.stopped.clone();
            tokio::select! {
                biased;
                _ = stopped.wait_for(|stopped| *stopped) => return sent,
                () = self.until_due(place, turn) => {}
            }
            sent.push((place, self.take(turn).await));
            self.progress.inc(1);
        }
    }

    async fn until_due(&self, place: usize, turn: Turn) {
        if let Some(gap) = self.gap {
            let due = self.began + gap.saturating_mul(u32::try_from(place).unwrap_or(u32::MAX));
            tokio::time::sleep_until(due.into()).await;
        }
        if turn.is_copy {
            // An error would mean that its sender is gone, and it is not: this has it.
            let _ = self.answered[turn.fixture].subscribe().wait_for(|answered| *answered).await;
        }
    }

    async fn take(&self, turn: Turn) -> Sent {
        let piece = &self.pieces[turn.fixture];
        let began = Instant::now();
        let answer = match piece.letter.seal(&piece.delivery_id, Clock::system().now()) {
            Ok(letter) => post(&self.client, &piece.url, &letter).await.map_err(|why| format!("no answer: {why}")),
            Err(error) => Err(format!("not sent: {error}")),
        };
        self.answered[turn.fixture].send_replace(true);
        Sent { turn, took: began.elapsed(), at: Instant::now(), answer }
    }
}

/// On standard error, and only where that is a terminal.
fn progress(planned: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {per_sec} {eta}");
    if !can_draw_progress() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(u64::try_from(planned).unwrap_or(u64::MAX));
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
