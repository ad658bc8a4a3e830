//! Orders: requests that change something. Each is carried out once per `Idempotency-Key` of its operator, and whoever sends it
//! again gets the same answer. docs/api.md tells what a client sees of crashes.
//!
//! The key's row is committed before the operation and its answer after. Where a process dies in between, the key is taken over
//! after a minute and the operation runs again: operations are guarded by the state of what they change, so that the second one
//! finds it done (409), and never does it twice.

use std::{pin::Pin, time::Duration};

use actix_web::{
    FromRequest, HttpRequest, HttpResponse,
    dev::Payload,
    http::StatusCode,
    rt::{spawn, time::timeout},
    web,
};
use chrono::{DateTime, Utc};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{body, problem::Problem};
use crate::{
    admin::auth::Operating,
    crash_point::crash_point,
    domain::Digest,
    operate::{Desk, Instruction, OperateError, Operator},
    store::operator_requests::{Begun, RequestKey, answer_request, begin_request, give_request_back, prune_requests},
};

/// How long an order may take. Less than the minute after which its key is taken over: two that live never run at once.
const PATIENCE: Duration = Duration::from_secs(45);

/// The longest key.
const KEY_BYTES_MAX: usize = 255;

/// An order with its body: of somebody who may give it.
pub(super) struct Order<T> {
    pub(super) body: T,
    operator: Operator,
    /// What makes two requests the same.
    digest: Digest,
    key: Result<String, Problem>,
    desk: web::Data<Desk>,
}

impl<T: DeserializeOwned + Serialize + 'static> FromRequest for Order<T> {
    type Error = actix_web::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Self::Error>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = web::Payload::from_request(&request, payload).into_inner();
        Box::pin(async move {
            // First who asks: a stranger learns nothing about the rest.
            let Operating(operator) = Operating::from_request(&request, &mut Payload::None).await?;
            let desk = web::Data::<Desk>::extract(&request).await?;
            let bytes = body::read(payload?).await?;
            let body = body::parse(&request, &bytes)?;
            let digest = digest_of(&request, &bytes);
            Ok(Self { body, operator, digest, key: key_of(&request), desk })
        })
    }
}

impl<T: 'static> Order<T> {
    /// Asks something that changes nothing, with no key.
    pub(super) fn ask(self) -> (web::Data<Desk>, T) {
        (self.desk, self.body)
    }

    /// Carries the order out, once for its key, and answers with `status` and what came of it.
    ///
    /// It goes on where the client goes away meanwhile.
    pub(super) async fn carry_out<R: Serialize>(
        self,
        status: StatusCode,
        work: impl AsyncFnOnce(&Desk, T, &Operator) -> Result<R, OperateError> + 'static,
    ) -> Result<HttpResponse, Problem> {
        let Self { body, operator, digest, key, desk } = self;
        let key = key?;
        let whole = async move {
            let key = RequestKey { operator: &operator.name, key: &key };
            let token = match begin(&desk, key, digest).await? {
                Start::Now(token) => token,
                Start::Answered(answer) => return Ok(answer),
            };
            crash_point("before_order").map_err(Problem::from)?;
            let done = timeout(PATIENCE, work(&desk, body, &operator)).await;
            crash_point("after_order").map_err(Problem::from)?;
            let answer = match done {
                Err(_too_slow) => Err(Problem::outcome_unknown()),
                Ok(done) => done
                    .map_err(Problem::from)
                    .and_then(|done| serde_json::to_value(done).map_err(|_| Problem::outcome_unknown())),
            };
            Ok(keep(&desk, key, token, status, answer).await)
        };
        // Away from the connection, whose end would otherwise be the order's.
        spawn(whole).await.unwrap_or_else(|_panicked_or_stopped| Err(Problem::outcome_unknown()))
    }
}

/// The words of an instruction.
pub(super) fn instruction<'a>(by: &'a Operator, reason: Option<&'a str>) -> Result<Instruction<'a>, OperateError> {
    let bytes = reason.map_or(0, str::len);
    if bytes > Instruction::REASON_BYTES_MAX {
        return Err(OperateError::Invalid {
            field: "reason",
            problem: format!("it has {bytes} bytes"),
            instead: format!("say it in {}, or link to where it is told", Instruction::REASON_BYTES_MAX),
        });
    }
    Ok(Instruction { by, reason })
}

enum Start {
    Now(DateTime<Utc>),
    Answered(HttpResponse),
}

async fn begin(desk: &Desk, key: RequestKey<'_>, digest: Digest) -> Result<Start, Problem> {
    let mut conn = desk.pool.acquire().await.map_err(|error| Problem::from(OperateError::from(error)))?;
    match begin_request(&mut conn, key, digest).await? {
        Begun::Now(token) => Ok(Start::Now(token)),
        Begun::Before { status, answer } => {
            let status = u16::try_from(status).ok().and_then(|status| StatusCode::from_u16(status).ok());
            let mut response = respond(status.ok_or_else(Problem::outcome_unknown)?, &answer);
            response.headers_mut().insert(
                actix_web::http::header::HeaderName::from_static("idempotency-replayed"),
                actix_web::http::header::HeaderValue::from_static("true"),
            );
            Ok(Start::Answered(response))
        }
        Begun::Other => {
            let detail = "this Idempotency-Key came before with another request: send this one under a new key";
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "key-reused", "Key reused", detail))
        }
        Begun::StillRunning(seconds_left) => {
            let detail = "the first request with this Idempotency-Key is being carried out, or its process has died; send it \
                          again after Retry-After: it is carried out once";
            Err(Problem::new(StatusCode::CONFLICT, "still-running", "Still running", detail).after(wait(seconds_left)))
        }
    }
}

/// Most orders take milliseconds: so look again soon, and at the latest when the key can be taken over.
fn wait(seconds_left: f64) -> u16 {
    if seconds_left > 2.0 { 2 } else { 1 }
}

/// Keeps a definite answer. Where nothing was done, or nobody knows, the key is given back or left to be taken over.
async fn keep(
    desk: &Desk,
    key: RequestKey<'_>,
    token: DateTime<Utc>,
    status: StatusCode,
    answer: Result<Value, Problem>,
) -> HttpResponse {
    let (status, body) = match &answer {
        Ok(value) => (status, value.clone()),
        Err(problem) => {
            let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, serde_json::to_value(problem).unwrap_or_default())
        }
    };
    let kept = async {
        let mut conn = desk.pool.acquire().await?;
        match status {
            StatusCode::NOT_FOUND | StatusCode::CONFLICT => {
                answer_request(&mut conn, key, token, status.as_u16().into(), &body).await?;
            }
            _ if status.is_success() => answer_request(&mut conn, key, token, status.as_u16().into(), &body).await?,
            // Nobody may find "done" under this key, nor "not done". The next one asks the state itself.
            _ => give_request_back(&mut conn, key, token).await?,
        }
        prune_requests(&mut conn).await
    };
    if let Err(error) = kept.await {
        tracing::warn!(%error, "the answer to an operator's order could not be kept: if it is sent again it is tried again");
    }
    match answer {
        Ok(_) => respond(status, &body),
        Err(problem) => actix_web::ResponseError::error_response(&problem),
    }
}

/// A kept answer: a problem is one again.
fn respond(status: StatusCode, answer: &Value) -> HttpResponse {
    let content_type = if status.is_success() { "application/json" } else { "application/problem+json" };
    HttpResponse::build(status).content_type(content_type).body(answer.to_string())
}

fn digest_of(request: &HttpRequest, body: &[u8]) -> Digest {
    let mut whole = Vec::with_capacity(body.len() + 128);
    for part in [request.path().as_bytes(), b"?", request.query_string().as_bytes(), b"\n"] {
        whole.extend_from_slice(part);
    }
    whole.extend_from_slice(body);
    Digest::of(&whole)
}

fn key_of(request: &HttpRequest) -> Result<String, Problem> {
    let mut keys = request.headers().get_all("idempotency-key");
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "no-key",
            "No Idempotency-Key",
            "send one Idempotency-Key header, 1 to 255 visible ASCII characters, new for each order (a UUID, say) and the \
             same when you send it again",
        ));
    };
    let bytes = key.as_bytes();
    let is_usable = (1..=KEY_BYTES_MAX).contains(&bytes.len()) && bytes.iter().all(|b| (0x20..0x7f).contains(b));
    match key.to_str() {
        Ok(key) if is_usable => Ok(key.to_owned()),
        _ => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "bad-key",
            "Bad Idempotency-Key",
            "an Idempotency-Key has 1 to 255 printable ASCII characters: use a UUID",
        )),
    }
}
