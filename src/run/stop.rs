//! How running work is told to end: first "finish what you do", then "let go of it". Never decides when.

use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    Finishing,
    LettingGo,
}

/// Tells work to end. Clones tell and hear the same.
#[derive(Debug, Clone)]
pub struct Stop(watch::Sender<Phase>);

impl Default for Stop {
    fn default() -> Self {
        Self(watch::Sender::new(Phase::Running))
    }
}

impl Stop {
    /// Nothing new is begun; deliveries under way go on to their end.
    pub fn finish(&self) {
        self.raise(Phase::Finishing);
    }

    /// Deliveries under way are dropped and put back in their place.
    pub fn let_go(&self) {
        self.raise(Phase::LettingGo);
    }

    /// Whether [`finish`](Self::finish) or [`let_go`](Self::let_go) was called.
    #[must_use]
    pub fn is_finishing(&self) -> bool {
        *self.0.borrow() >= Phase::Finishing
    }

    /// Waits for [`finish`](Self::finish).
    pub async fn finishing(&self) {
        self.reached(Phase::Finishing).await;
    }

    /// Waits for [`let_go`](Self::let_go).
    pub async fn letting_go(&self) {
        self.reached(Phase::LettingGo).await;
    }

    fn raise(&self, phase: Phase) {
        self.0.send_if_modified(|now| {
            let is_later = phase > *now;
            *now = phase.max(*now);
            is_later
        });
    }

    async fn reached(&self, phase: Phase) {
        // The sender lives in `self`, so that the wait ends by reaching the phase only.
        let _ = self.0.subscribe().wait_for(|now| *now >= phase).await;
    }
}
