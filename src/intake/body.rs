//! Reads a body as it comes over the wire: no decompression, within limits of size, time, rate and memory. The signature is
//! calculated meanwhile.

use actix_web::web::Payload;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use tokio::time::{Instant, timeout_at};

use super::{
    budget::{Budget, Share},
    problem::Problem,
};
use crate::config::{Intake as Limits, Source};

/// Room made before the first byte; a body that is larger grows as it comes.
const FIRST_ROOM_BYTES: usize = 16 * 1024;

/// A body in memory, with its share of the budget.
pub(super) struct Body {
    bytes: Bytes,
    _share: Share,
}

impl Body {
    /// The bytes as they came.
    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// Reads all of it, and shows each chunk to `on_chunk`.
pub(super) async fn read(
    mut payload: Payload,
    source: &Source,
    limits: &Limits,
    budget: &Budget,
    mut on_chunk: impl FnMut(&[u8]),
) -> Result<Body, Problem> {
    let started = Instant::now();
    let mut share = budget.share();
    let mut bytes = BytesMut::with_capacity(FIRST_ROOM_BYTES);
    loop {
        let chunk = match timeout_at(patience(started, bytes.len(), limits), payload.next()).await {
            Err(_too_slow) => return Err(Problem::body_too_slow(limits.body_timeout)),
            Ok(None) => break,
            Ok(Some(Err(error))) => return Err(Problem::body_broken(&error)),
            Ok(Some(Ok(chunk))) => chunk,
        };
        if chunk.len() > source.body_bytes_max - bytes.len() {
            return Err(Problem::body_too_large(source.body_bytes_max));
        }
        if !share.grow(chunk.len(), limits.in_flight_bytes_max) {
            return Err(Problem::no_memory_left());
        }
        on_chunk(&chunk);
        bytes.extend_from_slice(&chunk);
    }
    Ok(Body { bytes: bytes.freeze(), _share: share })
}

/// Until when the next chunk may come: the end of all patience, or sooner, the moment at which what has come by then is less
/// than the slowest rate allows.
fn patience(started: Instant, received: usize, limits: &Limits) -> Instant {
    let at_rate = received as u64 / limits.body_rate_min.max(1);
    let too_slow = started + limits.body_grace + std::time::Duration::from_secs(at_rate);
    too_slow.min(started + limits.body_timeout)
}
