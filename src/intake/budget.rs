//! Bytes of bodies that may be in memory at once, over all requests: beyond it a request is refused, and the process lives.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// A number of bytes shared by all requests.
#[derive(Debug, Clone)]
pub struct Budget {
    used: Arc<AtomicUsize>,
}

/// Bytes taken from the budget; they go back when this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    /// Nothing is taken yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a budget is shared, an accidental second one would not bound")]
    pub fn new() -> Self {
        Self { used: Arc::new(AtomicUsize::new(0)) }
    }

    /// Bytes taken at this moment.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The bytes taken as Prometheus text.
    #[must_use]
    pub fn to_prometheus(&self) -> String {
        format!(
            "# HELP oncehook_body_bytes_in_memory Bytes of request bodies held; intake.in_flight_bytes_max bounds them.\n\
             # TYPE oncehook_body_bytes_in_memory gauge\n\
             oncehook_body_bytes_in_memory {}\n",
            self.used()
        )
    }

    /// A share of no bytes, to grow with what arrives.
    pub(super) fn share(&self) -> Share {
        Share { budget: self.clone(), bytes: 0 }
    }
}

impl Share {
    /// Takes `bytes` more if the total then stays within `max`; tells whether it did. What counts is what has arrived, not
    /// what was announced: a slow sender must not hold what it has not sent.
    pub(super) fn grow(&mut self, bytes: usize, max: usize) -> bool {
        let taken = self.budget.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|total| *total <= max)
        });
        if taken.is_ok() {
            self.bytes += bytes;
        }
        taken.is_ok()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_refused_beyond_the_budget_and_given_back_when_dropped() {
        let budget = Budget::new();
        let (mut one, mut two) = (budget.share(), budget.share());
        assert!(one.grow(60, 100) && two.grow(40, 100));
        assert!(!two.grow(1, 100), "the budget is spent");
        assert!(!two.grow(usize::MAX, 100), "no overflow");
        drop(one);
        assert!(two.grow(60, 100));
        drop(two);
        assert_eq!(budget.used(), 0);
    }
}
