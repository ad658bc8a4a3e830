//! Counts of what the sender did, for the report. The checker counts for itself.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::Answer;

/// The counts.
#[derive(Debug, Default)]
pub struct Tally {
    counts: Mutex<Counts>,
}

/// As they are at one moment.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Counts {
    /// Requests.
    pub sent: u64,
    /// Requests of each variant.
    pub variants: BTreeMap<String, u64>,
    /// Answers of each state; `unknown` where there was none.
    pub answers: BTreeMap<String, u64>,
    /// Letters that ended acknowledged.
    pub acknowledged: u64,
    /// Letters that ended refused: forgeries.
    pub refused: u64,
    /// Letters whose outcome stays unknown.
    pub unknown: u64,
}

impl Tally {
    /// A request goes out.
    pub fn send(&self, variant: &str) {
        let mut counts = self.counts();
        counts.sent += 1;
        *counts.variants.entry(variant.to_owned()).or_default() += 1;
    }

    /// It was answered, or not.
    pub fn answer(&self, answer: &Answer) {
        let state = match (answer.status, &answer.state) {
            (None, state) => state.clone().unwrap_or_else(|| "unknown".to_owned()),
            (Some(status), Some(state)) if status < 300 || status == 409 => state.clone(),
            (Some(status), _) => status.to_string(),
        };
        *self.counts().answers.entry(state).or_default() += 1;
    }

    /// A letter is not sent again.
    pub fn end(&self, answer: &Answer) {
        match answer.status {
            None => self.counts().unknown += 1,
            Some(_) if answer.is_acknowledged() => self.counts().acknowledged += 1,
            Some(_) => self.counts().refused += 1,
        }
    }

    /// A letter is acknowledged, by one of two requests.
    pub fn acknowledge(&self) {
        self.counts().acknowledged += 1;
    }

    /// A letter was sent too often.
    pub fn give_up(&self) {
        self.counts().unknown += 1;
    }

    /// The counts now.
    pub fn now(&self) -> Counts {
        self.counts().clone()
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
