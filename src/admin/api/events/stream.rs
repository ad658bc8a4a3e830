//! One stream: what has come in since the receipt to resume at, then what happens, until the reader is too slow or the time is
//! up.

use std::{collections::HashSet, convert::Infallible, time::Duration};

use bytes::Bytes;
use futures_util::{Stream, stream::unfold};
use tokio::{
    sync::broadcast::error::{RecvError, TryRecvError},
    time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until},
};

use super::{
    event::{Event, Filter},
    feed::Listening,
};
use crate::{domain::ReceiptId, operate::Desk, store::event_feed::receipts_after};

/// How often there is a comment: proxies close what is silent for half a minute.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How long a stream lasts: whose token was revoked meanwhile does not connect again.
const LIFETIME: Duration = Duration::from_secs(3_600);

/// Receipts that are read at a time to catch up.
const CATCH_UP_ROWS: usize = 1_000;

/// Events in one chunk.
const CHUNK_EVENTS: usize = 256;

/// Receipts of which it is remembered that they were sent while catching up: as many as may come a second time.
const REMEMBERED_MAX: usize = 16 * 1024;

/// Where to resume.
pub(super) struct Resume {
    pub(super) desk: Desk,
    pub(super) after: ReceiptId,
}

struct Reader {
    listening: Listening,
    filter: Filter,
    resume: Option<Resume>,
    sent: HashSet<ReceiptId>,
    heart: Interval,
    ends_at: Instant,
    has_begun: bool,
    has_ended: bool,
}

/// The events that a reader wants.
pub(super) fn stream(
    listening: Listening,
    filter: Filter,
    resume: Option<Resume>,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let now = Instant::now();
    let mut heart = interval_at(now + HEARTBEAT, HEARTBEAT);
    heart.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ends_at = now + LIFETIME;
    let sent = HashSet::new();
    let reader = Reader { listening, filter, resume, sent, heart, ends_at, has_begun: false, has_ended: false };
    unfold(reader, async |mut reader| reader.next().await.map(|text| (Ok(Bytes::from(text)), reader)))
}

impl Reader {
    async fn next(&mut self) -> Option<String> {
        if self.has_ended {
            return None;
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            // How long to wait before connecting again, and something that shows that it works.
            return Some("retry: 2000\n: listening\n\n".to_owned());
        }
        loop {
            let text = match &self.resume {
                Some(_) => self.catch_up().await,
                None => self.listen().await?,
            };
            if !text.is_empty() {
                return Some(text);
            }
        }
    }

    /// A page of what has come in since, by the order of ids.
    async fn catch_up(&mut self) -> String {
        let Some(Resume { desk, after }) = &mut self.resume else { return String::new() };
        let read = async {
            let mut conn = desk.pool.acquire().await?;
            receipts_after(&mut conn, after.uuid(), CATCH_UP_ROWS.try_into().unwrap_or(i64::MAX)).await
        };
        let rows = match read.await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(%error, "a stream of events could not catch up");
                self.has_ended = true;
                return Event::cut(0);
            }
        };
        match rows.last().filter(|_| rows.len() == CATCH_UP_ROWS) {
            Some(last) => *after = last.id,
            None => self.resume = None,
        }
        if self.sent.len() + rows.len() > REMEMBERED_MAX {
            self.sent.clear();
        }
        self.sent.extend(rows.iter().map(|row| row.id));
        let events = rows.iter().map(Event::receipt).filter(|event| self.filter.wants(event));
        events.map(|event| event.wire.to_string()).collect()
    }

    /// What happens next; empty where it is not wanted, `None` at the end.
    async fn listen(&mut self) -> Option<String> {
        let first = tokio::select! {
            event = self.listening.events.recv() => event,
            _ = self.heart.tick() => return Some(": still here\n\n".to_owned()),
            () = sleep_until(self.ends_at) => return None,
        };
        let mut text = String::new();
        let mut next = first;
        for _ in 0..CHUNK_EVENTS {
            match next {
                Ok(event) => self.push(&event, &mut text),
                Err(RecvError::Lagged(lost)) => {
                    self.has_ended = true;
                    text.push_str(&Event::cut(lost));
                    break;
                }
                Err(RecvError::Closed) => {
                    self.has_ended = true;
                    break;
                }
            }
            next = match self.listening.events.try_recv() {
                Ok(event) => Ok(event),
                Err(TryRecvError::Lagged(lost)) => Err(RecvError::Lagged(lost)),
                Err(TryRecvError::Closed) => Err(RecvError::Closed),
                Err(TryRecvError::Empty) => break,
            };
        }
        if self.has_ended && text.is_empty() { None } else { Some(text) }
    }

    fn push(&self, event: &Event, text: &mut String) {
        let was_sent = event.receipt.is_some_and(|receipt| self.sent.contains(&receipt));
        if !was_sent && self.filter.wants(event) {
            text.push_str(&event.wire);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::StreamExt as _;
    use tokio::sync::{Semaphore, broadcast};

    use super::*;
    use crate::store::event_feed::FreshReceipt;

    fn listening(behind: usize) -> (broadcast::Sender<Event>, Listening) {
        let (sender, events) = broadcast::channel(behind);
        let place = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        (sender, Listening { events, _place: place })
    }

    fn push(event_type: &str) -> Event {
        let (source, event_type) = ("github".to_owned(), event_type.to_owned());
        Event::receipt(&FreshReceipt { id: ReceiptId::new(), source, event_type, delivery_id: "a\nb".to_owned() })
    }

    async fn text(stream: &mut (impl Stream<Item = Result<Bytes, Infallible>> + Unpin)) -> Option<String> {
        stream.next().await.map(|chunk| String::from_utf8(chunk.unwrap().to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_is_too_slow_is_told_and_cut() {
        let (sender, listening) = listening(8);
        let mut events = Box::pin(stream(listening, Filter::default(), None));
        assert!(text(&mut events).await.unwrap().starts_with("retry: "));
        for _ in 0..20 {
            sender.send(push("push")).unwrap();
        }
        let last = text(&mut events).await.unwrap();
        assert!(last.starts_with("event: cut\n") && last.contains("\"lost\":12"), "{last}");
        assert_eq!(text(&mut events).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_is_one_line_of_json_and_only_who_wants_it_gets_it() {
        let (sender, listening) = listening(8);
        let filter = Filter { source: None, event_type: Some("pull_request".to_owned()) };
        let mut events = Box::pin(stream(listening, filter, None));
        text(&mut events).await.unwrap();
        for event_type in ["push", "pull_request_review", "pull_request.opened"] {
            sender.send(push(event_type)).unwrap();
        }
        let event = text(&mut events).await.unwrap();
        let lines: Vec<&str> = event.lines().collect();
        assert!(lines[0].starts_with("id: rcp_") && lines[1] == "event: receipt", "{event}");
        assert!(lines[2].contains("pull_request.opened") && lines[2].contains(r"a\nb") && lines.len() == 4, "{event}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_beats_and_ends_after_its_time() {
        let (_sender, listening) = listening(8);
        let mut events = Box::pin(stream(listening, Filter::default(), None));
        text(&mut events).await.unwrap();
        let mut beats = 0;
        while text(&mut events).await.is_some() {
            beats += 1;
        }
        assert!((238..=240).contains(&beats), "{beats}");
    }
}
