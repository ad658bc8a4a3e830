//! Figures, the audit log, and who asks.

use actix_web::{HttpResponse, web};
use chrono::{DateTime, Utc};

use super::{
    answers::Looking,
    problem::Problem,
    query::{Nothing, Query},
};
use crate::{
    admin::{Admin, auth::Signed},
    operate::{AuditLine, AuditQuery, Desk, Page, Role, Stats, StatsQuery, Via},
};

type Answer = Result<HttpResponse, Problem>;

/// Figures over a range of time
#[utoipa::path(get, path = "/stats", tag = "overview", operation_id = "get_stats", params(StatsQuery),
    responses((status = 200, description = "The figures", body = Stats), Looking))]
pub(super) async fn stats(_: Signed, desk: web::Data<Desk>, query: Query<StatsQuery>) -> Answer {
    Ok(HttpResponse::Ok().json(desk.stats(&query.0).await?))
}

/// The audit log, newest first
#[utoipa::path(get, path = "/audit", tag = "overview", operation_id = "list_audit", params(AuditQuery),
    responses((status = 200, description = "A page of entries", body = Page<AuditLine>), Looking))]
pub(super) async fn audit(_: Signed, desk: web::Data<Desk>, query: Query<AuditQuery>) -> Answer {
    Ok(HttpResponse::Ok().json(desk.audit(&query.0).await?))
}

/// Who asks, and who answers.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Me {
    /// The name of the token.
    pub operator: String,
    /// What it may do.
    pub role: Role,
    /// From where it asks.
    pub via: Via,
    /// The version of Oncehook.
    pub version: String,
    /// The time on the server.
    pub now: DateTime<Utc>,
}

/// Who asks, and who answers
#[utoipa::path(get, path = "/me", tag = "overview", operation_id = "get_me",
    responses((status = 200, description = "The operator and the appliance", body = Me), Looking))]
pub(super) async fn me(signed: Signed, admin: web::Data<Admin>, _: Query<Nothing>) -> HttpResponse {
    let Signed(operator) = signed;
    HttpResponse::Ok().json(Me {
        operator: operator.name,
        role: operator.role,
        via: operator.via,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        now: admin.clock.now(),
    })
}
