//! What orders carry: the bodies that several of them have in common, and the header that all have.

use crate::domain::{OrderingKey, RouteName};

/// The header of every order.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "only its description is used: order.rs reads the header")]
pub(super) struct IdempotencyKey {
    /// New for each order, the same when it is sent again: the answer is then the first one's, and nothing is done twice.
    #[param(rename = "Idempotency-Key", min_length = 1, max_length = 255, pattern = "^[ -~]+$")]
    key: String,
}

/// Why something is changed.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reason {
    /// In your words, for the audit log: up to 500 bytes.
    #[schema(max_length = 500)]
    pub reason: Option<String>,
}

/// What of a receipt is run again.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReplayRequest {
    /// Only this route; by default all that match.
    #[schema(value_type = Option<String>, pattern = "^[a-z0-9][a-z0-9_-]{0,63}$")]
    pub route: Option<RouteName>,
    /// In your words, for the audit log: up to 500 bytes.
    #[schema(max_length = 500)]
    pub reason: Option<String>,
}

/// Which lane goes on.
#[derive(Debug, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UnblockRequest {
    /// Its route.
    #[schema(value_type = String, pattern = "^[a-z0-9][a-z0-9_-]{0,63}$")]
    pub route: RouteName,
    /// What its deliveries have in common.
    pub ordering_key: String,
    /// In your words, for the audit log: up to 500 bytes.
    #[serde(default)]
    #[schema(max_length = 500)]
    pub reason: Option<String>,
}

impl UnblockRequest {
    /// The lane.
    pub(super) fn lane(&self) -> crate::domain::LaneKey {
        crate::domain::LaneKey { route: self.route.clone(), ordering_key: OrderingKey::new(&self.ordering_key) }
    }
}
