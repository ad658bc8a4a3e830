//! Commands: what the sender of one is answered, and the look at `GET /hooks/{source}/{receipt}`. The same key is answered
//! the same, whatever has become of the command meanwhile, and never makes it run again.

use std::time::Instant;

use actix_web::{HttpRequest, HttpResponse, http::header, web};

use super::{
    Intake,
    answer::Answered,
    caller_of,
    command_result::{Replayed, StatusAnswer, planned},
    problem::{PENDING_RETRY_AFTER_SECONDS, Problem},
    request::Incoming,
    tally::Turnout,
};
use crate::{
    blueprint::Blueprint,
    config::Source,
    domain::{Arrival, CallerName, CommandState, ReceiptId, SourceName},
    provider::Provider,
    store::command_status::{CommandDelivery, command_status},
    verify::{self, VerifyError},
};

/// The largest body of a destination's answer that is handed on. An `i32`, as PostgreSQL counts bytes.
const RESULT_BODY_BYTES_MAX: i32 = 16 * 1024;

/// Says that this is the answer to an earlier request.
const REPLAYED: &str = "Idempotency-Replayed";

/// The answer to a command that is recorded.
pub(super) async fn respond(answered: &Answered, source: &Source, intake: &Intake) -> (Turnout, HttpResponse) {
    let response = match &answered.arrival {
        Arrival::First { receipt } => Ok(HttpResponse::Accepted()
            .insert_header((header::LOCATION, location(&source.name, *receipt)))
            .json(answered.summary.accepted(*receipt))),
        Arrival::Duplicate(seen) => replay(answered, seen.receipt, source, intake).await,
        // No api source has a guard that could hold or refuse.
        Arrival::Held { .. } | Arrival::Replay { .. } => Ok(answered.respond(source)),
        Arrival::Conflict(seen) => Err(Problem::key_reused(seen.receipt, location(&source.name, seen.receipt))),
    };
    match response {
        Ok(response) => (answered.turnout(), response),
        Err(problem) => (problem.turnout(), problem.into()),
    }
}

/// The first answer again, with the result; or, as long as there is none, that it is on its way.
async fn replay(
    answered: &Answered,
    receipt: ReceiptId,
    source: &Source,
    intake: &Intake,
) -> Result<HttpResponse, Problem> {
    let Some(caller) = &answered.summary.caller else { return Err(Problem::unknown_receipt()) };
    let deliveries = status_of(intake, receipt, &source.name, caller).await?;
    let location = location(&source.name, receipt);
    if state_of(&deliveries) == CommandState::Pending {
        return Err(Problem::still_pending(receipt, location));
    }
    let first = answered.summary.accepted_with(receipt, planned(&deliveries));
    Ok(HttpResponse::Accepted()
        .insert_header((header::LOCATION, location))
        .insert_header((REPLAYED, "true"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(Replayed::of(first, &deliveries)))
}

/// `GET /hooks/{source}/{receipt}`: only for `api` sources; elsewhere nothing is at this path.
pub(super) async fn look(request: HttpRequest, intake: web::Data<Intake>) -> HttpResponse {
    let begun = Instant::now();
    let blueprint = intake.live.load_full();
    let source = blueprint.source(request.match_info().query("source"));
    let Some(source) = source.filter(|source| source.provider == Provider::Api) else {
        intake.count(None, Turnout::UnknownSource, begun);
        return Problem::no_such_path().into();
    };
    let (turnout, response) = match look_up(&request, &intake, &blueprint, source).await {
        Ok(response) => (Turnout::Looked, response),
        Err(problem) => (problem.turnout(), problem.into()),
    };
    intake.count(Some(source), turnout, begun);
    response
}

async fn look_up(
    request: &HttpRequest,
    intake: &Intake,
    blueprint: &Blueprint,
    source: &Source,
) -> Result<HttpResponse, Problem> {
    let asked = request.match_info().query("receipt");
    let incoming = Incoming::read(request, source, &blueprint.config.intake)?;
    let caller = authenticate(&incoming, asked, source, intake)?;
    let receipt: ReceiptId = asked.parse().map_err(|_| Problem::unknown_receipt())?;
    let deliveries = status_of(intake, receipt, &source.name, caller).await?;
    let mut response = HttpResponse::Ok();
    if state_of(&deliveries) == CommandState::Pending {
        response.insert_header((header::RETRY_AFTER, PENDING_RETRY_AFTER_SECONDS));
    }
    Ok(response.insert_header((header::CACHE_CONTROL, "no-store")).json(StatusAnswer::of(receipt, &deliveries)))
}

/// Who asks. A signature covers the receipt's id and no body, whatever body came with the request.
fn authenticate<'s>(
    incoming: &Incoming,
    asked: &str,
    source: &'s Source,
    intake: &Intake,
) -> Result<&'s CallerName, Problem> {
    let refuse = |error: VerifyError| Problem::unverified(source, &error);
    let scheme = source.scheme.ok_or_else(|| refuse(VerifyError::NoSecret))?;
    let begun = verify::begin(scheme, &source.secrets, source.tolerance, &incoming.headers, intake.clock.now());
    let verified = begun.and_then(verify::Verification::finish).map_err(refuse)?;
    intake.figures.verified(&source.name, &verified.secret);
    if verified.signed_id.as_ref().is_some_and(|signed| signed.as_str() != asked) {
        return Err(refuse(VerifyError::OtherReceipt));
    }
    caller_of(source, Some(&verified))?.ok_or_else(|| refuse(VerifyError::NoSecret))
}

async fn status_of(
    intake: &Intake,
    receipt: ReceiptId,
    source: &SourceName,
    caller: &CallerName,
) -> Result<Vec<CommandDelivery>, Problem> {
    let read = async {
        let mut conn = intake.pool.acquire().await?;
        command_status(&mut conn, receipt, source, caller, RESULT_BODY_BYTES_MAX).await
    };
    let limit = intake.live.load().config.intake.record_timeout;
    match tokio::time::timeout(limit, read).await {
        Ok(Ok(Some(deliveries))) => Ok(deliveries),
        Ok(Ok(None)) => Err(Problem::unknown_receipt()),
        Ok(Err(error)) => {
            tracing::warn!(%receipt, %error, "what became of a command could not be read");
            Err(Problem::status_unreadable())
        }
        Err(_too_slow) => Err(Problem::status_unreadable()),
    }
}

fn state_of(deliveries: &[CommandDelivery]) -> CommandState {
    CommandState::of(deliveries.iter().map(|delivery| delivery.state))
}

/// Where to look at a command. A path, since only the caller knows by which name it reaches us.
fn location(source: &SourceName, receipt: ReceiptId) -> String {
    format!("/hooks/{source}/{receipt}")
}
