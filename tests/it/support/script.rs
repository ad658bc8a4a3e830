//! A deliverer that does what a test wrote for it, and remembers in which order things began and ended.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use oncehook::{
    domain::{DeliveryRef, DeliveryState, Outcome, OutcomeClass},
    run::Deliverer,
    store::deliveries::{Claim, Settlement},
};
use tokio::sync::{Notify, Semaphore};

/// What one attempt does.
#[derive(Clone)]
pub enum Step {
    Succeed,
    Fail,
    Reject,
    Panic,
    /// Stays under way until the gate opens, then succeeds.
    Hold(Arc<Semaphore>),
    /// Gives other tasks their turn so many times, then succeeds.
    Yield(usize),
}

/// What happened to a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Begun(DeliveryRef),
    Ended(DeliveryRef),
}

#[derive(Default)]
pub struct Script {
    steps: Mutex<HashMap<DeliveryRef, VecDeque<Step>>>,
    log: Mutex<Vec<Moment>>,
    changed: Notify,
}

impl Script {
    /// The next attempts of a delivery; those after succeed.
    pub fn plan(&self, delivery: DeliveryRef, steps: impl IntoIterator<Item = Step>) {
        self.steps.lock().unwrap().insert(delivery, steps.into_iter().collect());
    }

    pub fn log(&self) -> Vec<Moment> {
        self.log.lock().unwrap().clone()
    }

    /// Deliveries in the order in which their attempts began.
    pub fn begun(&self) -> Vec<DeliveryRef> {
        let begun = |moment| if let Moment::Begun(delivery) = moment { Some(delivery) } else { None };
        self.log().into_iter().filter_map(begun).collect()
    }

    /// Waits until so many attempts have begun.
    pub async fn until_begun(&self, count: usize) {
        loop {
            let changed = self.changed.notified();
            if self.begun().len() >= count {
                return;
            }
            changed.await;
        }
    }

    fn note(&self, moment: Moment) {
        self.log.lock().unwrap().push(moment);
        self.changed.notify_waiters();
    }
}

pub fn outcome(class: OutcomeClass, reason: &str) -> Outcome {
    Outcome { class, reason: reason.to_owned(), answer: None, retry_after: None }
}

/// What settles a delivery that its destination took.
pub fn success() -> Settlement {
    Settlement {
        state: DeliveryState::Succeeded,
        delay: Duration::ZERO,
        last_error: None,
        outcome: outcome(OutcomeClass::Succeeded, "taken"),
        took: Duration::ZERO,
        last_words: None,
    }
}

impl Deliverer for Script {
    fn deliver<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Outcome> {
        let delivery = claim.lease.delivery;
        async move {
            self.note(Moment::Begun(delivery));
            let step = self.steps.lock().unwrap().get_mut(&delivery).and_then(VecDeque::pop_front);
            let outcome = match step.unwrap_or(Step::Succeed) {
                Step::Succeed => outcome(OutcomeClass::Succeeded, "taken"),
                Step::Fail => outcome(OutcomeClass::Failed, "refused\0 for now"),
                Step::Reject => outcome(OutcomeClass::Rejected, "never"),
                Step::Panic => panic!("this attempt was told to panic"),
                Step::Hold(gate) => {
                    gate.acquire().await.unwrap().forget();
                    outcome(OutcomeClass::Succeeded, "taken at last")
                }
                Step::Yield(times) => {
                    for _ in 0..times {
                        tokio::task::yield_now().await;
                    }
                    outcome(OutcomeClass::Succeeded, "taken")
                }
            };
            self.note(Moment::Ended(delivery));
            outcome
        }
        .boxed()
    }
}
