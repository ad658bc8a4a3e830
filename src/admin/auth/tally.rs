//! Counts who was let in and who was not. Nothing that a request says makes a new counter.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counters.
#[derive(Debug, Default)]
pub(super) struct SignIns {
    accepted: AtomicU64,
    refused: AtomicU64,
    throttled: AtomicU64,
    tokens_refused: AtomicU64,
}

impl SignIns {
    pub(super) fn accept(&self) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn throttle(&self) {
        self.throttled.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn refuse_token(&self) {
        self.tokens_refused.fetch_add(1, Ordering::Relaxed);
    }

    /// The counters as Prometheus text.
    pub(super) fn to_prometheus(&self) -> String {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        format!(
            "# HELP oncehook_sign_ins_total Attempts to sign in to the pages, by what they came to.\n\
             # TYPE oncehook_sign_ins_total counter\n\
             oncehook_sign_ins_total{{outcome=\"accepted\"}} {}\n\
             oncehook_sign_ins_total{{outcome=\"refused\"}} {}\n\
             oncehook_sign_ins_total{{outcome=\"throttled\"}} {}\n\
             # HELP oncehook_tokens_refused_total Requests with a bearer token that nobody has.\n\
             # TYPE oncehook_tokens_refused_total counter\n\
             oncehook_tokens_refused_total {}\n",
            read(&self.accepted),
            read(&self.refused),
            read(&self.throttled),
            read(&self.tokens_refused),
        )
    }
}
