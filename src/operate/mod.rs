//! What an operator does: looks things up, and asks for changes. The API, the pages and the command line call these and
//! nothing else, so that they say and do the same.
//!
//! Looking takes no locks. A change is one transaction: what is changed, with its row in the audit log; then the doorbell.

mod audit;
mod bulk;
mod bulk_scope;
mod bulk_work;
mod cancel;
mod conflicts;
mod deliveries;
mod delivery_criteria;
mod destinations;
mod error;
mod lanes;
mod operator;
mod page;
mod pause;
mod payload_search;
mod planning;
mod promote;
mod receipt_criteria;
mod receipts;
mod release;
mod replay;
mod retry;
mod series;
mod sources;
mod standing;
mod stats;
mod tokens;
mod verdict;
mod why;

pub use audit::{AuditLine, AuditQuery};
pub use bulk::{BulkAction, BulkCount, BulkProgress, BulkRequest, BulkState};
pub use bulk_work::keep_working_bulks;
pub use conflicts::{ConflictLine, ConflictQuery, ConflictStory};
pub use deliveries::{DeadLetterGroup, DeliveryQuery, FoundDelivery};
pub use destinations::{Breaker, DestinationLine, RouteLine};
pub use error::{OperateError, Result};
pub use lanes::LaneQuery;
pub use operator::{Instruction, Operator, Role, Via};
pub use page::{PAGE_LIMIT, PAGE_LIMIT_MAX, Page, PageRequest};
pub use pause::{Pausable, Paused};
pub use receipts::{Found, PayloadText, ReceiptQuery};
pub use replay::{Replayed, ReplayedDelivery};
pub use retry::{Changed, RETRIED_FROM, retry_delivery, unblock_lane};
pub use sources::{SecretUse, SourceLine};
pub use stats::{Backlog, Latency, Series, Stats, StatsPoint, StatsQuery};
pub use tokens::{FIRST_TOKEN, RevokedToken, TokenLine, create_token, list_tokens, make_first_token, revoke_token};
pub use why::{RouteVerdict, Why};

use sqlx::PgPool;

use crate::{blueprint::Live, run::Doorbell};

/// Where an operator's questions and orders are dealt with. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Desk {
    /// Connections for operators: a few of their own, so that a slow search never holds up the work.
    pub pool: PgPool,
    /// The configuration of this moment.
    pub live: Live,
    /// Wakes the workers of this process after a commit.
    pub bell: Doorbell,
}
