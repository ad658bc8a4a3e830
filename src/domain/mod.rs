//! The nouns of Oncehook, as DESIGN.md section 2 defines them. No I/O and no clock in here: values, their limits,
//! and the moves that are legal between them.

mod arrival;
mod attempt;
mod delivery;
mod headers;
mod ids;
mod lane;
mod names;
mod payload_digest;
mod receipt;
mod secret;
mod version;

pub use arrival::{Arrival, ArrivalKind, SeenBefore};
pub use attempt::{ANSWER_KEPT_BYTES, Answer, Outcome, OutcomeClass, Trigger};
pub use delivery::{DeliveryState, PlannedDelivery, Purpose};
pub use headers::Headers;
pub use ids::{AttemptId, DeliveryRef, JobId, ParseIdError, ReceiptId};
pub use lane::{LaneKey, OrderingKey};
pub use names::{DestinationName, NameError, RouteName, SourceName};
pub use payload_digest::Digest;
pub use receipt::{DeliveryId, DeliveryIdError, EventTime, EventType, Flag, NewReceipt, ReplayGuard};
pub use secret::{Fingerprint, Secret};
pub use version::{Chain, Version};
