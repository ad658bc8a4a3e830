//! The nouns of Oncehook, as DESIGN.md section 2 defines them. No I/O and no clock in here: values, their limits,
//! and the moves that are legal between them.

mod arrival;
mod attempt;
mod command;
mod delivery;
mod headers;
mod ids;
mod lane;
mod names;
mod operator_token;
mod payload_digest;
mod receipt;
mod secret;
mod staleness;
mod version;

pub use arrival::{Arrival, ArrivalKind, SeenBefore, Standing};
pub use attempt::{ANSWER_KEPT_BYTES, Answer, Outcome, OutcomeClass, Trigger};
pub use command::CommandState;
pub use delivery::{DeliveryState, PlannedDelivery, Purpose};
pub use headers::Headers;
pub use ids::{AttemptId, DeliveryRef, JobId, ParseIdError, ReceiptId};
pub use lane::{LaneKey, OrderingKey};
pub use names::{CallerName, DestinationName, NameError, RouteName, SourceName, TokenName};
pub use operator_token::{OperatorToken, TokenDigest};
pub use payload_digest::Digest;
pub use receipt::{DeliveryId, DeliveryIdError, EventTime, EventType, Flag, NewReceipt, ReplayGuard};
pub use secret::{Fingerprint, Secret};
pub use staleness::{is_stale, why_stale};
pub use version::{Chain, DELETED, Measure, Part, Version, rank_of_status};
