//! Looks whether what came of each fixture is what its file expects: waits for deliveries to come to an end, but no longer than the
//! file says.

use std::time::{Duration, Instant};

use super::{
    folder::Piece,
    sending::{Sendings, Sent},
    sink::Sink,
};
use crate::{
    cli::access::Access,
    domain::ReceiptId,
    fixture::expect::{Expectations, Miss, Observed, ObservedDelivery, ObservedReceipt},
};

/// How long to wait between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A fixture and what was missed.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(super) struct Case {
    /// Its file.
    pub(super) file: String,
    pub(super) took_ms: u128,
    /// Whether a file says what is expected; without one it is enough that the request was accepted.
    pub(super) has_expectations: bool,
    pub(super) misses: Vec<Miss>,
}

impl Case {
    pub(super) fn is_passed(&self) -> bool {
        self.misses.is_empty()
    }
}

/// Judges what was sent, in the order of the files. `access` is `None` where no file asks for more than the answer.
///
/// # Errors
/// When the appliance cannot be asked.
pub(super) async fn judge(
    pieces: &[Piece],
    sendings: &Sendings,
    access: Option<&Access>,
    sink: Option<&Sink>,
) -> anyhow::Result<Vec<Case>> {
    let mut of_pieces: Vec<Vec<&Sent>> = vec![Vec::new(); pieces.len()];
    sendings.sent.iter().for_each(|sent| of_pieces[sent.turn.fixture].push(sent));
    let mut cases = Vec::new();
    for (piece, mut sent) in pieces.iter().zip(of_pieces) {
        sent.sort_by_key(|sent| sent.turn.is_copy);
        let Some((first, copies)) = sent.split_first() else { continue };
        let mut misses = match &piece.expectations {
            Some(expectations) => misses(expectations, first, access, sink).await?,
            None => misses_of_answer(first),
        };
        misses.extend(copies.iter().filter_map(|copy| miss_of_copy(first, copy)));
        cases.push(Case {
            file: piece.path.display().to_string(),
            took_ms: first.took.as_millis(),
            has_expectations: piece.expectations.is_some(),
            misses,
        });
    }
    Ok(cases)
}

async fn misses(
    expectations: &Expectations,
    sent: &Sent,
    access: Option<&Access>,
    sink: Option<&Sink>,
) -> anyhow::Result<Vec<Miss>> {
    let answer = match &sent.answer {
        Ok(answer) => answer,
        Err(why) => return Ok(vec![miss("status", "an answer", why)]),
    };
    let mut observed = Observed { status: answer.status, answer: answer.word(), receipt: None };
    let receipt = answer.text("receipt").and_then(|text| text.parse::<ReceiptId>().ok());
    let (Some(access), Some(receipt), true) = (access, receipt, expectations.need_receipt()) else {
        return Ok(expectations.misses(&observed));
    };
    let deadline = sent.at + expectations.within;
    loop {
        observed.receipt = Some(observe(receipt, access, sink).await?);
        let is_over = Instant::now() >= deadline;
        if !expectations.may_come_true(&observed) || is_over {
            let mut misses = expectations.misses(&observed);
            if is_over {
                let waited = humantime::format_duration(expectations.within);
                misses.iter_mut().for_each(|miss| miss.found += &format!(" after {waited}"));
            }
            return Ok(misses);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn observe(receipt: ReceiptId, access: &Access, sink: Option<&Sink>) -> anyhow::Result<ObservedReceipt> {
    let story = access.receipt(receipt).await?;
    let deliveries = story.deliveries.iter().map(|delivery| {
        let (calls, other_bodies) =
            sink.map_or((0, 0), |sink| sink.calls(&delivery.id.to_string(), &story.facts.body_digest));
        ObservedDelivery {
            route: delivery.route.clone(),
            state: delivery.state,
            attempts: delivery.attempts.len(),
            calls,
            other_bodies,
        }
    });
    Ok(ObservedReceipt {
        deliveries: deliveries.collect(),
        source: story.facts.source,
        event_type: story.facts.event_type,
        ordering_key: story.facts.ordering_key,
    })
}

fn misses_of_answer(sent: &Sent) -> Vec<Miss> {
    match &sent.answer {
        Ok(answer) if answer.is_success() => vec![],
        Ok(answer) => vec![miss("status", "a 2xx", &answer.label())],
        Err(why) => vec![miss("status", "a 2xx", why)],
    }
}

/// A redelivery is answered as one, or refused as its first was.
fn miss_of_copy(first: &Sent, copy: &Sent) -> Option<Miss> {
    let refused =
        |sent: &Sent| sent.answer.as_ref().ok().filter(|answer| !answer.is_success()).map(|answer| answer.status);
    match &copy.answer {
        Ok(answer) if answer.is_success() && answer.word().as_deref() == Some("duplicate") => None,
        Ok(_) if refused(first).is_some() && refused(first) == refused(copy) => None,
        Ok(answer) => Some(miss("the redelivery", "duplicate", &answer.label())),
        Err(why) => Some(miss("the redelivery", "duplicate", why)),
    }
}

fn miss(key: &str, expected: &str, found: &str) -> Miss {
    Miss { key: key.to_owned(), expected: expected.to_owned(), found: found.to_owned() }
}
