//! Deliveries: one receipt × one route; what is ordered, retried and dead-lettered.

use std::{fmt, str::FromStr, time::Duration};

use super::{DeliveryRef, DestinationName, JobId, OrderingKey, RouteName};

/// Where a delivery stands. docs/lifecycle.md draws it, the CHECK in migrations holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    /// In line behind another delivery of its lane.
    Waiting,
    /// Its turn: a job on the queue will run it.
    Queued,
    /// A worker holds it under a lease; an attempt is open.
    Running,
    /// The last attempt failed; the next is due later. It keeps its place at the head of its lane.
    Retrying,
    /// Done: the destination took it.
    Succeeded,
    /// Dead letter: not tried again by itself.
    Dead,
    /// Not run, since the lane had already applied something newer (by policy).
    Skipped,
    /// Called off by an operator.
    Cancelled,
}

impl DeliveryState {
    /// Every state, in the order of a delivery's life.
    pub const ALL: [Self; 8] = [
        Self::Waiting,
        Self::Queued,
        Self::Running,
        Self::Retrying,
        Self::Succeeded,
        Self::Dead,
        Self::Skipped,
        Self::Cancelled,
    ];

    /// The word for it in SQL, JSON, pages and tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Succeeded => "succeeded",
            Self::Dead => "dead",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing more happens to it by itself. A lane's row exists while one of its deliveries is not finished.
    #[must_use]
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Succeeded | Self::Dead | Self::Skipped | Self::Cancelled)
    }

    /// Whether a delivery may go from here to `next`. From a finished state only an operator or a redelivery leads on;
    /// `running → queued` is a rescue or a shutdown.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        use DeliveryState::{Cancelled, Dead, Queued, Retrying, Running, Skipped, Succeeded, Waiting};
        match self {
            Waiting => matches!(next, Queued | Running | Skipped | Cancelled),
            Queued => matches!(next, Running | Skipped | Cancelled),
            Running => matches!(next, Succeeded | Retrying | Dead | Queued | Skipped),
            Retrying => matches!(next, Running | Dead | Skipped | Cancelled),
            Dead => matches!(next, Queued | Waiting | Cancelled),
            Cancelled | Succeeded | Skipped => matches!(next, Queued | Waiting),
        }
    }
}

impl fmt::Display for DeliveryState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for DeliveryState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|state| state.as_str()).collect();
            format!("{text:?} is not a delivery state: use one of {}", known.join(", "))
        })
    }
}

/// What a delivery is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// To bring the event to its destination.
    Deliver,
    /// To tell another destination that it could not be brought there (`on_dead_destination`).
    Compensate,
}

impl Purpose {
    /// The word for it in SQL and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deliver => "deliver",
            Self::Compensate => "compensate",
        }
    }
}

/// A delivery that a receipt needs, before it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedDelivery {
    /// Its id, and the destination's `Idempotency-Key`.
    pub delivery: DeliveryRef,
    /// The rule that asks for it.
    pub route: RouteName,
    /// Where it ends.
    pub destination: DestinationName,
    /// The lane it waits in; `None` with `order = "none"`.
    pub ordering_key: Option<OrderingKey>,
    /// Whether it goes by the provider's event time (`order = "event"`).
    pub by_event: bool,
    /// How long it waits for earlier events that come late.
    pub hold: Duration,
    /// The job to enqueue if the lane is idle (or if there is no lane).
    pub job: JobId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_reads_back_from_its_word() {
        for state in DeliveryState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert!("done".parse::<DeliveryState>().unwrap_err().contains("succeeded"));
    }

    #[test]
    fn a_finished_delivery_moves_only_by_being_asked_for_again_or_discarded() {
        for from in DeliveryState::ALL.into_iter().filter(|state| state.is_finished()) {
            for to in DeliveryState::ALL {
                let is_asked_for_again = matches!(to, DeliveryState::Queued | DeliveryState::Waiting);
                let is_discarded = from == DeliveryState::Dead && to == DeliveryState::Cancelled;
                assert_eq!(from.may_become(to), is_asked_for_again || is_discarded);
            }
        }
    }

    #[test]
    fn every_state_that_is_not_finished_leads_to_a_finished_one() {
        for state in DeliveryState::ALL.into_iter().filter(|state| !state.is_finished()) {
            let leads_on = DeliveryState::ALL.into_iter().any(|next| state.may_become(next));
            assert!(leads_on, "{state} is a dead end");
        }
    }
}
