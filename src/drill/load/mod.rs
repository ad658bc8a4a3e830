//! The random load: what is sent, planned from the seed; who sends it, and what is written down about it.

mod bodies;
mod letter;
mod plan;
mod sender;
mod tally;

pub use self::{
    bodies::{Moment, body_of, event_of},
    letter::Letter,
    plan::{Event, Kind, Plan},
    sender::{Answer, Sender},
    tally::{Counts, Tally},
};
