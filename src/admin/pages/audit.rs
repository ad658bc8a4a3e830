//! `/audit`: who changed what, when and why.

use actix_web::{HttpResponse, web};
use askama::Template;

use super::{
    fields::Fields,
    pieces::{Moment, line},
    shell::{Here, Shell},
    visit::Visit,
};
use crate::operate::{AuditLine, AuditQuery, Desk, Result};

const FILTER: [&str; 5] = ["operator", "action", "subject", "since", "until"];

struct Row {
    at: Moment,
    operator: String,
    via: &'static str,
    action: String,
    subject: String,
    link: Option<String>,
    reason: Option<String>,
    details: String,
}

#[derive(Template)]
#[template(path = "audit.html")]
struct Audit {
    shell: Shell,
    filter: Fields,
    is_filtered: bool,
    rows: Vec<Row>,
    next: Option<String>,
    first: Option<String>,
}

impl Row {
    fn of(entry: AuditLine) -> Self {
        let details = match &entry.details {
            serde_json::Value::Null => String::new(),
            serde_json::Value::Object(members) if members.is_empty() => String::new(),
            details => line(&details.to_string()),
        };
        Self {
            at: Moment::of(entry.at),
            operator: line(&entry.operator),
            via: entry.via.as_str(),
            action: line(&entry.action),
            link: link_to(&entry.subject),
            subject: line(&entry.subject),
            reason: entry.reason.as_deref().map(line),
            details,
        }
    }
}

/// Where the subject can be looked at, if it is an id of ours.
fn link_to(subject: &str) -> Option<String> {
    if let Ok(receipt) = subject.parse::<crate::domain::ReceiptId>() {
        return Some(format!("/receipts/{receipt}"));
    }
    subject.parse::<crate::domain::DeliveryRef>().ok().map(|delivery| format!("/deliveries/{delivery}"))
}

/// Shows it.
pub(super) async fn list(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    visit.answer(audit(&desk, &visit).await)
}

async fn audit(desk: &Desk, visit: &Visit) -> Result<Audit> {
    let filter = visit.fields.only(&FILTER);
    let page = desk.audit(&visit.fields.read::<AuditQuery>()?).await?;
    Ok(Audit {
        shell: visit.shell("Audit", Here::Audit),
        is_filtered: !filter.is_empty(),
        rows: page.items.into_iter().map(Row::of).collect(),
        next: page.next.map(|next| filter.clone().with("cursor", next).link("/audit")),
        first: visit.fields.given("cursor").map(|_| filter.link("/audit")),
        filter,
    })
}
