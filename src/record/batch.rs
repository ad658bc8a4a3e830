//! Takes what waits, up to a bound, and hands it over. Knows no SQL.

use tokio::sync::mpsc;

use super::{Waiting, commit::Committer};
use crate::config;

/// Commits batch after batch until the queue is closed and empty.
pub(super) async fn commit_as_they_come(
    mut waiting: mpsc::Receiver<Waiting>,
    settings: config::Record,
    committer: Committer,
) {
    let mut left_over = None;
    loop {
        let first = match left_over.take() {
            Some(first) => first,
            None => match waiting.recv().await {
                Some(first) => first,
                None => return,
            },
        };
        let batch;
        (batch, left_over) = take_what_waits(first, &mut waiting, &settings);
        let (receipts, answers): (Vec<_>, Vec<_>) = batch.into_iter().map(|one| (one.new, one.answer)).unzip();
        let results = committer.commit(&receipts).await;
        for (answer, result) in answers.into_iter().zip(results) {
            // A requester that has gone away is no reason to forget the event.
            let _ = answer.send(result);
        }
    }
}

/// The first and what waits behind it, within the bounds of rows and bytes. One that does not fit is the first of the next
/// batch; one that is larger than the bound goes alone.
fn take_what_waits(
    first: Waiting,
    waiting: &mut mpsc::Receiver<Waiting>,
    settings: &config::Record,
) -> (Vec<Waiting>, Option<Waiting>) {
    let mut bytes = first.new.body.len();
    let mut batch = vec![first];
    while batch.len() < settings.batch_rows_max {
        let Ok(next) = waiting.try_recv() else { break };
        bytes = bytes.saturating_add(next.new.body.len());
        if bytes > settings.batch_bytes_max {
            return (batch, Some(next));
        }
        batch.push(next);
    }
    (batch, None)
}
