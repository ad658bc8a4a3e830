//! The description of the API, made from the handlers. docs/openapi.json is a copy of it, which a test compares.

use actix_web::HttpResponse;
use serde_json::{Value, json};
use utoipa::OpenApi;

use super::{
    answers::Looking,
    bulks, conflicts, deliveries, events, lanes, overview,
    problem::Problem,
    query::{Nothing, Query},
    receipts, setup,
};
use crate::{admin::auth::Signed, operate::PAGE_LIMIT_MAX};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Oncehook",
        description = "What operators ask and order: the same that the dashboard and the command line do. docs/api.md tells how to \
                       authenticate, to page, and to send orders again.",
    ),
    servers((url = "/api/v1", description = "On the operator's port, 127.0.0.1:8081 by default")),
    paths(
        receipts::list, receipts::show, receipts::payload, receipts::why, receipts::arrivals, receipts::replay,
        receipts::release, receipts::look_up, deliveries::list, deliveries::show, deliveries::attempt, deliveries::retry,
        deliveries::cancel, deliveries::discard, deliveries::dead_letters, deliveries::groups, lanes::list,
        lanes::unblock, conflicts::list, conflicts::show, conflicts::payload, conflicts::promote, setup::sources,
        setup::source, setup::routes, setup::pause_route, setup::resume_route, setup::destinations,
        setup::pause_destination, setup::resume_destination, setup::pauses, bulks::list, bulks::show, bulks::begin,
        bulks::stop, overview::stats, overview::audit, overview::me, events::events, document,
    ),
    components(schemas(Problem)),
    tags(
        (name = "receipts", description = "What came in"),
        (name = "deliveries", description = "Where it went, and what was tried"),
        (name = "dead letters", description = "Deliveries that will not be tried again by themselves"),
        (name = "lanes", description = "Deliveries that wait for one another"),
        (name = "conflicts", description = "Other payloads under the id of a receipt"),
        (name = "setup", description = "Sources, routes, destinations, pauses"),
        (name = "bulks", description = "The same done to many deliveries"),
        (name = "overview", description = "Figures, the audit log, who asks"),
        (name = "live", description = "What happens now"),
    ),
)]
struct Document;

/// This description
#[utoipa::path(get, path = "/openapi.json", tag = "overview", operation_id = "get_openapi",
    responses((status = 200, description = "OpenAPI 3.1", content_type = "application/json"), Looking))]
pub(super) async fn document(_: Signed, _: Query<Nothing>) -> HttpResponse {
    HttpResponse::Ok().json(describe())
}

/// The description of the API: `OpenAPI` 3.1.
#[must_use]
pub fn describe() -> Value {
    let mut document = serde_json::to_value(Document::openapi()).expect("a description is texts and maps");
    document["components"]["securitySchemes"] = json!({ "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of the role read for what is looked at, and of the role operate for orders.",
    } });
    document["security"] = json!([{ "token": [] }]);
    for name in ["BulkRequest", "DeliveryQuery"] {
        // src/admin/api/body.rs refuses what it does not know.
        document["components"]["schemas"][name]["additionalProperties"] = json!(false);
    }
    bound_the_picked(&mut document);
    let paths = document["paths"].as_object_mut().expect("there are paths");
    for operation in paths.values_mut().filter_map(Value::as_object_mut).flat_map(|path| path.values_mut()) {
        complete(operation);
    }
    document
}

fn bound_the_picked(document: &mut Value) {
    let picked = &mut document["components"]["schemas"]["BulkRequest"]["properties"]["only"];
    picked["maxItems"] = json!(1_000);
}

/// What is the same for many: bounds of parameters, and of answers the header that says that it is a replayed one.
fn complete(operation: &mut Value) {
    let is_dry = operation["operationId"] == "begin_bulk";
    for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
        let bounds = match parameter["name"].as_str() {
            Some("limit") => json!({ "minimum": 1, "maximum": PAGE_LIMIT_MAX }),
            Some("points") => json!({ "minimum": 1, "maximum": 500 }),
            Some("Idempotency-Key") if is_dry => {
                parameter["required"] = json!(false);
                continue;
            }
            _ => continue,
        };
        for (name, bound) in bounds.as_object().into_iter().flatten() {
            parameter["schema"][name] = bound.clone();
        }
    }
    let has_key = |parameter: &Value| parameter["name"] == "Idempotency-Key";
    if operation["parameters"].as_array().is_some_and(|parameters| parameters.iter().any(has_key)) {
        for status in ["200", "202"] {
            if let Some(answer) = operation["responses"].get_mut(status) {
                answer["headers"]["Idempotency-Replayed"] = json!({
                    "description": "`true`: this is the answer to an earlier request with the same key",
                    "schema": { "type": "string" },
                });
            }
        }
    }
}
