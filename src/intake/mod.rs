//! The public port: takes one HTTP request, gives one answer, and nothing but a committed receipt makes it a 2xx.
//! **The main path starts here**: `take_in` is the whole of it, a few lines a step.

mod answer;
mod body;
mod budget;
mod command;
mod command_result;
mod problem;
mod request;
mod server;
mod tally;

use std::{sync::Arc, time::Instant};

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use sqlx::PgPool;

use self::{
    answer::{Answered, Summary},
    problem::Problem,
    request::Incoming,
};
pub use self::{
    budget::Budget,
    server::{BoundServer, bind},
    tally::{Tally, Turnout},
};
use crate::{
    blueprint::{Blueprint, Live},
    clock::Clock,
    config::{Dedupe, Source},
    crash_point::crash_point,
    domain::{CallerName, Flag, NewReceipt, ReceiptId, Secret},
    figures::Figures,
    provider::{self, Identity, Provider},
    record::Recorder,
    route::Plan,
    verify::{self, Verification, Verified, VerifyError},
};

/// The largest body that is identified on the thread that reads requests; parsing a larger one would hold up others.
const IDENTIFY_INLINE_BYTES_MAX: usize = 256 * 1024;

/// What the handler works with. Cloned into each thread.
#[derive(Clone)]
pub struct Intake {
    /// The configuration of this moment.
    pub live: Live,
    /// Where receipts are made durable.
    pub recorder: Recorder,
    /// Bytes of bodies in memory.
    pub budget: Budget,
    /// Counts of answers, by source.
    pub tally: Arc<Tally>,
    /// The same by minute, with how long answers took, and which secrets were used.
    pub figures: Figures,
    /// Connections for looking at what became of commands: few, so that they hold up nothing else.
    pub pool: PgPool,
    /// The time, for signatures and stamps.
    pub clock: Clock,
}

/// `POST /hooks/{source}`.
async fn receive(request: HttpRequest, body: web::Payload, intake: web::Data<Intake>) -> HttpResponse {
    // actix calls this as soon as the header lines are there: the first byte came in at most one read before.
    let begun = Instant::now();
    let blueprint = intake.live.load_full();
    let name = request.match_info().query("source");
    let Some(source) = blueprint.source(name) else {
        intake.count(None, Turnout::UnknownSource, begun);
        return Problem::unknown_source(name).into();
    };
    let (turnout, response) = match take_in(&request, body, &intake, &blueprint, source).await {
        Ok(answered) if source.provider == Provider::Api => command::respond(&answered, source, &intake).await,
        Ok(answered) => (answered.turnout(), answered.respond(source)),
        Err(problem) => (problem.turnout(), problem.into()),
    };
    intake.count(Some(source), turnout, begun);
    response
}

impl Intake {
    /// Counts a request that has been answered.
    fn count(&self, source: Option<&Source>, turnout: Turnout, begun: Instant) {
        let name = source.map(|source| &source.name);
        self.tally.count(name, turnout);
        self.figures.answered(name, turnout, begun.elapsed());
    }
}

/// The path from the first byte to the committed receipt: intake, verify, identify, record. Every early way out is a problem
/// that tells the sender what is wrong.
async fn take_in(
    request: &HttpRequest,
    body: web::Payload,
    intake: &Intake,
    blueprint: &Arc<Blueprint>,
    source: &Source,
) -> Result<Answered, Problem> {
    let limits = &blueprint.config.intake;
    let mut incoming = Incoming::read(request, source, limits)?;
    let mut verification = begin_verification(source, &incoming, intake)?;
    let read = body::read(body, source, limits, &intake.budget, |chunk| {
        if let Some(verification) = &mut verification {
            verification.update(chunk);
        }
    });
    let body = read.await?;
    let verified =
        verification.map(Verification::finish).transpose().map_err(|error| Problem::unverified(source, &error))?;
    let caller = caller_of(source, verified.as_ref())?;
    if let Some(verified) = &verified {
        intake.figures.verified(&source.name, &verified.secret);
    }
    incoming.redact(&secrets_to_hide(source, caller));
    incoming.received_at = intake.clock.now();

    let (identity, plan) = identify(blueprint, source, &incoming, body.bytes()).await?;
    let mut receipt = new_receipt(source, incoming, verified, identity, plan, body.bytes().clone());
    if let Some(caller) = caller {
        // Invariant: a key is its caller's own: that of another caller, or of another source, is another receipt.
        caller.as_str().clone_into(&mut receipt.hook_scope);
    }
    let summary = Summary::of(&receipt, caller.cloned());

    let recorded = tokio::time::timeout(limits.record_timeout, intake.recorder.record(receipt)).await;
    crash_point("before_answer").map_err(|_| Problem::recorded_too_slowly())?;
    match recorded {
        Ok(Ok(arrival)) => Ok(Answered { summary, arrival }),
        Ok(Err(error)) => Err(Problem::not_recorded(&error)),
        Err(_too_slow) => Err(Problem::recorded_too_slowly()),
    }
}

/// Checks the headers before the body is read: an unsigned request costs no memory. `None` where the source takes unsigned
/// requests.
fn begin_verification(source: &Source, incoming: &Incoming, intake: &Intake) -> Result<Option<Verification>, Problem> {
    let Some(scheme) = source.scheme else { return Ok(None) };
    verify::begin(scheme, &source.secrets, source.tolerance, &incoming.headers, intake.clock.now())
        .map(Some)
        .map_err(|error| Problem::unverified(source, &error))
}

/// Whose command it is; `None` where the source takes no commands. A secret that is nobody's opens nothing.
fn caller_of<'s>(source: &'s Source, verified: Option<&Verified>) -> Result<Option<&'s CallerName>, Problem> {
    if source.provider != Provider::Api {
        return Ok(None);
    }
    let caller = verified.and_then(|verified| source.caller_of(&verified.secret));
    caller.map(Some).ok_or_else(|| Problem::unverified(source, &VerifyError::NoSecret))
}

/// What must not be written, should it stand in a header: all secrets, or those that this caller can know, in both their forms.
fn secrets_to_hide(source: &Source, caller: Option<&CallerName>) -> Vec<Secret> {
    let Some(caller) = caller else { return source.secrets.clone() };
    let own = source.secrets.iter().filter(|secret| source.caller_of(secret.fingerprint()) == Some(caller));
    own.flat_map(|secret| std::iter::once(secret.clone()).chain(verify::signing_key(secret))).collect()
}

/// Reads what the event is and which deliveries it needs, away from the request threads where the body is large.
async fn identify(
    blueprint: &Arc<Blueprint>,
    source: &Source,
    incoming: &Incoming,
    body: &Bytes,
) -> Result<(Identity, Plan), Problem> {
    let work = {
        let (blueprint, name, provider) = (blueprint.clone(), source.name.clone(), source.provider);
        let (headers, body) = (incoming.headers.clone(), body.clone());
        move || {
            let identity = provider::identify(provider, &headers, &body)?;
            let plan = blueprint.plan(&name, &identity, body.len());
            Ok((identity, plan))
        }
    };
    let identified = if body.len() <= IDENTIFY_INLINE_BYTES_MAX {
        work()
    } else {
        web::block(work).await.map_err(|_| Problem::shutting_down())?
    };
    identified.map_err(|error| Problem::malformed(&error))
}

/// The remark on a signed request to a source that takes unsigned ones: its provider signs, and nobody looks (pitfall B024).
fn signed_but_not_checked(source: &Source, incoming: &Incoming) -> Option<Flag> {
    if source.scheme.is_some() {
        return None;
    }
    let header = verify::signature_header(&incoming.headers)?;
    Some(Flag::new(&format!(
        "signed but not checked: the request has {header}; set `secrets` of the source and remove `allow_unsigned`"
    )))
}

/// Puts together what is recorded.
fn new_receipt(
    source: &Source,
    incoming: Incoming,
    verified: Option<Verified>,
    identity: Identity,
    plan: Plan,
    body: Bytes,
) -> NewReceipt {
    let hook_scope = match source.dedupe {
        Dedupe::PerEvent => String::new(),
        Dedupe::PerHook => identity.hook_id.clone().unwrap_or_default(),
    };
    let flags =
        identity.flags.into_iter().chain(plan.flags()).chain(signed_but_not_checked(source, &incoming)).collect();
    let (secret, signed_at) = verified.map(|verified| (verified.secret, verified.signed_at)).unzip();
    NewReceipt {
        id: ReceiptId::new(),
        source: source.name.clone(),
        delivery_id: identity.delivery_id,
        hook_scope,
        hook_id: identity.hook_id,
        event_type: identity.event_type,
        ordering_key: identity.ordering_key,
        event_time: identity.event_time,
        version: identity.version,
        replay_guard: source.replay_guard,
        received_at: incoming.received_at,
        body_digest: identity.body_digest,
        normalised_digest: identity.normalised_digest,
        secret,
        signed_at: signed_at.flatten(),
        remote_address: incoming.remote_address,
        flags,
        headers: incoming.headers,
        body,
        deliveries: plan.deliveries,
        may_revive: source.provider.revives_on_duplicate(),
    }
}
