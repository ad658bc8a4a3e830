//! The only way to the time. Wall-clock time is for signatures, stamps and people; leases and schedules use the
//! database's clock (`oncehook.now()`), time-outs the monotonic one.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use chrono::{DateTime, TimeDelta, Utc};

/// Tells the wall-clock time. Cloned handles show the same time.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    /// Milliseconds that tests have moved it.
    moved_ms: Arc<AtomicI64>,
}

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self::default()
    }

    /// Now, to the microsecond, as PostgreSQL keeps it.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the system's clock")]
    pub fn now(&self) -> DateTime<Utc> {
        let now = Utc::now() + TimeDelta::milliseconds(self.moved_ms.load(Ordering::Relaxed));
        DateTime::from_timestamp_micros(now.timestamp_micros()).expect("a time of today fits into microseconds")
    }

    /// Moves this clock and its clones, for tests.
    pub fn advance(&self, by: TimeDelta) {
        self.moved_ms.fetch_add(by.num_milliseconds(), Ordering::Relaxed);
    }
}
