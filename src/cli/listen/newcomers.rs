//! Finds receipts that were not there before. They are committed in another order than they were received in, by a moment: so each
//! look goes back a little, and what was seen is remembered for as long.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    cli::access::Access,
    domain::ReceiptId,
    operate::{PAGE_LIMIT_MAX, ReceiptQuery},
    store::receipt_list::ReceiptLine,
};

/// How far a look goes back. Recording takes 8 s at the most, and the clocks of nodes differ a little.
const OVERLAP: TimeDelta = TimeDelta::seconds(15);

/// Pages of one look. Where more came in at once, or during an interruption, the oldest are passed over, and it says so.
const PAGES_MAX: usize = 20;

/// What was seen.
#[derive(Debug)]
pub(super) struct Newcomers {
    seen: HashMap<ReceiptId, DateTime<Utc>>,
    newest: DateTime<Utc>,
}

impl Newcomers {
    /// From this time on.
    pub(super) fn since(now: DateTime<Utc>) -> Self {
        Self { seen: HashMap::new(), newest: now }
    }

    /// What passes the filter and was not seen yet, oldest first. It counts as seen then.
    pub(super) async fn look(&mut self, access: &Access, filter: &ReceiptQuery) -> anyhow::Result<Vec<ReceiptLine>> {
        let mut query =
            ReceiptQuery { since: Some(self.newest - OVERLAP), limit: Some(PAGE_LIMIT_MAX), ..filter.clone() };
        let mut lines = Vec::new();
        for _ in 0..PAGES_MAX {
            let page = access.receipts(&query).await?;
            lines.extend(page.items);
            query.cursor = page.next;
            if query.cursor.is_none() {
                break;
            }
        }
        if query.cursor.is_some() {
            eprintln!("note: more came in than can be forwarded; the oldest were passed over");
        }
        lines.reverse();
        Ok(self.unseen(lines))
    }

    fn unseen(&mut self, mut lines: Vec<ReceiptLine>) -> Vec<ReceiptLine> {
        lines.retain(|line| self.seen.insert(line.id, line.received_at).is_none());
        self.newest = lines.iter().map(|line| line.received_at).fold(self.newest, DateTime::max);
        // Twice as far as a look goes back: what it can find must be known.
        let from = self.newest - OVERLAP * 2;
        self.seen.retain(|_, at| *at >= from);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sample;

    fn line(number: u128, seconds: i64) -> ReceiptLine {
        ReceiptLine {
            id: uuid::Uuid::from_u128(number).into(),
            received_at: sample::morning() + TimeDelta::seconds(seconds),
            source: "github".to_owned(),
            event_type: "push".to_owned(),
            delivery_id: "x".to_owned(),
            arrivals: 1,
            deliveries: vec![],
            flags: vec![],
        }
    }

    #[test]
    fn each_receipt_is_new_once_also_when_it_is_committed_late() {
        let mut newcomers = Newcomers::since(sample::morning());
        assert_eq!(newcomers.unseen(vec![line(1, -5), line(2, 1)]).len(), 2);
        assert_eq!(newcomers.unseen(vec![line(1, -5), line(3, 0), line(2, 1)]), [line(3, 0)]);
        assert_eq!(newcomers.unseen(vec![line(4, 60)]), [line(4, 60)]);
        assert_eq!(newcomers.seen.len(), 1, "what no look reaches is forgotten");
    }
}
