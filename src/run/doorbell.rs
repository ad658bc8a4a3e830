//! The doorbell: whoever commits work in this process rings it, and workers look at once instead of at the next tick.
//! A ring that nobody hears costs nothing but that tick.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use apalis_core::backend::ext::poll_strategy::{PollSnapshot, PollStrategy};
use tokio::{
    sync::watch,
    time::{Instant, Sleep},
};

/// Rings for all workers of this process. Clones are the same bell.
#[derive(Debug, Clone, Default)]
pub struct Doorbell {
    jobs: watch::Sender<()>,
    outbox: watch::Sender<()>,
    bulks: watch::Sender<()>,
}

impl Doorbell {
    /// Call it after a commit that put a job on the queue.
    pub fn ring(&self) {
        self.jobs.send_replace(());
    }

    /// Call it after a commit that may have put rows into the outbox.
    pub fn ring_outbox(&self) {
        self.outbox.send_replace(());
    }

    /// Call it after a commit that began a bulk.
    pub fn ring_bulks(&self) {
        self.bulks.send_replace(());
    }

    /// The ear of whoever works off bulks.
    pub(crate) fn listen_for_bulks(&self) -> watch::Receiver<()> {
        self.bulks.subscribe()
    }

    /// The dispatcher's ear.
    pub(super) fn listen_for_outbox(&self) -> watch::Receiver<()> {
        self.outbox.subscribe()
    }

    /// A worker's ear at this bell, which also wakes it every `tick`.
    pub(super) fn listen(&self, tick: Duration) -> Listener {
        let tick = tick.max(TICK_MIN);
        Listener { ring: next_ring(self.jobs.subscribe()), timer: Box::pin(tokio::time::sleep(tick)), gap: tick, tick }
    }
}

type NextRing = Pin<Box<dyn Future<Output = watch::Receiver<()>> + Send + Sync>>;

fn next_ring(mut bell: watch::Receiver<()>) -> NextRing {
    Box::pin(async move {
        if bell.changed().await.is_err() {
            // The bell is gone, and nobody can ring it: only the tick is left.
            std::future::pending::<()>().await;
        }
        bell
    })
}

/// A shorter tick would be a busy loop.
const TICK_MIN: Duration = Duration::from_millis(1);
/// The first echo of a ring.
const ECHO: Duration = Duration::from_millis(2);
/// How much longer each further echo takes, up to the tick.
const ECHO_GROWTH: u32 = 5;

/// Wakes a worker at every ring, at a few echoes of it, and every tick.
///
/// The echoes are there because apalis-core 1.0.0 can lose a wake-up: it polls the strategy, drops the answer, and
/// polls its fetch; a ring that comes while a fetch is under way is then spent, although that fetch may have looked
/// before the ringer's commit. An echo finds the fetch over and starts another.
pub(super) struct Listener {
    ring: NextRing,
    timer: Pin<Box<Sleep>>,
    gap: Duration,
    tick: Duration,
}

impl PollStrategy for Listener {
    fn poll_drive(&mut self, cx: &mut Context<'_>, _: &PollSnapshot) -> Poll<Option<()>> {
        let mut is_awake = false;
        while let Poll::Ready(bell) = self.ring.as_mut().poll(cx) {
            self.ring = next_ring(bell);
            self.set_timer(ECHO.min(self.tick));
            is_awake = true;
        }
        // Never answer without an armed timer: that is how the built-in strategies sleep through a full queue.
        while self.timer.as_mut().poll(cx).is_ready() {
            self.set_timer((self.gap * ECHO_GROWTH).min(self.tick));
            is_awake = true;
        }
        if is_awake { Poll::Ready(Some(())) } else { Poll::Pending }
    }
}

impl Listener {
    fn set_timer(&mut self, gap: Duration) {
        self.gap = gap;
        self.timer.as_mut().reset(Instant::now() + gap);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn is_awake(listener: &mut Listener) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        listener.poll_drive(&mut cx, &PollSnapshot::new()).is_ready()
    }

    #[tokio::test(start_paused = true)]
    async fn a_ring_is_heard_at_once_and_echoes_ever_later_until_the_tick() {
        let bell = Doorbell::default();
        let mut listener = bell.listen(Duration::from_millis(250));
        assert!(!is_awake(&mut listener));
        bell.ring();
        assert!(is_awake(&mut listener) && !is_awake(&mut listener));
        for gap in [2, 10, 50, 250, 250] {
            tokio::time::advance(Duration::from_millis(gap - 1)).await;
            assert!(!is_awake(&mut listener), "not before {gap} ms");
            tokio::time::advance(Duration::from_millis(2)).await;
            assert!(is_awake(&mut listener), "after {gap} ms");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_worker_hears_the_bell_and_a_ring_before_it_listens_again_is_kept() {
        let bell = Doorbell::default();
        let mut listeners = [bell.listen(Duration::from_secs(1)), bell.clone().listen(Duration::from_secs(1))];
        bell.ring();
        bell.ring();
        for listener in &mut listeners {
            assert!(is_awake(listener));
        }
    }
}
