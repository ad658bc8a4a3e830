//! Commands: receipts of `api` sources, whose senders ask what became of them.

use super::DeliveryState;

/// What became of a command, over all its deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandState {
    /// Something is still to happen.
    Pending,
    /// Every delivery succeeded, or was skipped since something newer had been applied.
    Done,
    /// A delivery died or was called off. Nothing more happens by itself.
    Failed,
}

impl CommandState {
    /// What these deliveries come to; without one there is nothing to wait for.
    #[must_use]
    pub fn of(deliveries: impl IntoIterator<Item = DeliveryState>) -> Self {
        deliveries.into_iter().fold(Self::Done, |so_far, delivery| match (so_far, delivery) {
            (Self::Pending, _) => Self::Pending,
            (_, state) if !state.is_finished() => Self::Pending,
            (_, DeliveryState::Dead | DeliveryState::Cancelled) => Self::Failed,
            (other, _) => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unfinished_delivery_keeps_a_command_pending_and_one_dead_one_makes_it_fail() {
        use DeliveryState::{Cancelled, Dead, Queued, Retrying, Running, Skipped, Succeeded, Waiting};
        assert_eq!(CommandState::of([]), CommandState::Done);
        assert_eq!(CommandState::of([Succeeded, Skipped]), CommandState::Done);
        for bad in [Dead, Cancelled] {
            assert_eq!(CommandState::of([Succeeded, bad, Succeeded]), CommandState::Failed);
        }
        for open in [Waiting, Queued, Running, Retrying] {
            assert_eq!(CommandState::of([Dead, open, Succeeded]), CommandState::Pending);
            assert_eq!(CommandState::of([open, Dead]), CommandState::Pending);
        }
    }
}
