//! The one who looks for all streams of a process: one poller, which runs while somebody listens. No LISTEN and NOTIFY, since
//! that serialises commits (ARCHITECTURE.md).

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use super::{event::Event, look::Look};
use crate::operate::Desk;

/// Streams at a time: each is a connection and a place in the ring.
const STREAMS_MAX: usize = 64;

/// Events that a stream may be behind. More than one look can find, so that only who does not read is cut.
const BEHIND_MAX: usize = 16 * 1024;

/// How often to look.
const EVERY: Duration = Duration::from_millis(500);

/// Where streams of events come from. Cheap to clone.
#[derive(Clone)]
pub struct Feed(Arc<Inner>);

struct Inner {
    desk: Desk,
    places: Arc<Semaphore>,
    /// Events, and whether somebody looks for them. `None` while nobody listens: a ring takes memory.
    ring: Mutex<Option<broadcast::Sender<Event>>>,
}

/// A place among the streams.
pub(super) struct Listening {
    pub(super) events: broadcast::Receiver<Event>,
    pub(super) _place: OwnedSemaphorePermit,
}

impl Feed {
    /// A feed that nobody listens to yet.
    #[must_use]
    pub fn new(desk: Desk) -> Self {
        Self(Arc::new(Inner { desk, places: Arc::new(Semaphore::new(STREAMS_MAX)), ring: Mutex::new(None) }))
    }

    /// From now on; `None`: there are too many streams.
    pub(super) fn listen(&self) -> Option<Listening> {
        let place = self.0.places.clone().try_acquire_owned().ok()?;
        let mut ring = self.0.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let events = match &*ring {
            Some(sender) => sender.subscribe(),
            None => {
                let (sender, events) = broadcast::channel(BEHIND_MAX);
                *ring = Some(sender.clone());
                actix_web::rt::spawn(poll(self.clone(), sender));
                events
            }
        };
        Some(Listening { events, _place: place })
    }

    /// Whether nobody listens any more; then the ring goes, and the next one begins another.
    fn is_over(&self, sender: &broadcast::Sender<Event>) -> bool {
        let mut ring = self.0.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = sender.receiver_count() == 0;
        if is_over {
            *ring = None;
        }
        is_over
    }
}

async fn poll(feed: Feed, sender: broadcast::Sender<Event>) {
    let mut look = Look::default();
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if feed.is_over(&sender) {
            return;
        }
        match look.once(&feed.0.desk).await {
            Ok(events) => events.into_iter().for_each(|event| {
                // It fails only where nobody listens, which the next round finds.
                let _ = sender.send(event);
            }),
            Err(error) => tracing::debug!(%error, "the feed of events could not look; it looks again"),
        }
    }
}
