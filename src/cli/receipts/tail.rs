//! `oncehook receipts tail`: the newest receipts, and further ones as they come in.
//!
//! Receipts are committed in another order than they were received in, by a moment: so each look goes back a little, and what was
//! shown already is remembered for as long.

use std::{collections::HashMap, process::ExitCode, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};

use super::{filter::Filter, list::cells};
use crate::{
    cli::{
        Globals,
        access::{self, Access},
        colour::Paint,
        output::write_line,
    },
    domain::ReceiptId,
    operate::{PAGE_LIMIT_MAX, ReceiptQuery},
    store::receipt_list::ReceiptLine,
};

/// How far a look goes back behind the newest receipt. One that is committed later after it was received is not shown: only a
/// database that stood still for so long makes such.
const OVERLAP: TimeDelta = TimeDelta::seconds(10);

/// Pages of one look. Where more comes in at once, the oldest of them are passed over, and it says so.
const PAGES_MAX: usize = 20;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    #[command(flatten)]
    filter: Filter,
    /// How many of those that are there to begin with.
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=500))]
    lines: u32,
    /// Goes on with receipts as they come in, until Ctrl-C. With --json: one line of JSON a receipt.
    #[arg(short, long)]
    follow: bool,
    /// How long to wait between two looks.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    every: Duration,
}

/// What was shown.
#[derive(Default)]
struct Shown {
    at: HashMap<ReceiptId, DateTime<Utc>>,
    newest: Option<DateTime<Utc>>,
}

pub(super) async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    access::with(globals, async |access| {
        tokio::select! {
            done = follow(access, options, globals) => done,
            _ = tokio::signal::ctrl_c() => Ok(()),
        }
    })
    .await?;
    Ok(ExitCode::SUCCESS)
}

async fn follow(access: &Access, options: &Options, globals: &Globals) -> anyhow::Result<()> {
    let mut shown = Shown::default();
    let mut lines = newest(access, options).await?;
    let mut is_wanted = options.lines > 0;
    loop {
        for line in lines {
            if shown.is_new(&line) && is_wanted && !write_line(&line_of(&line, globals)?)? {
                return Ok(()); // the reader has gone away
            }
        }
        if !options.follow {
            return Ok(());
        }
        is_wanted = true;
        tokio::time::sleep(options.every).await;
        lines = since(access, options, shown.go_on()).await?;
    }
}

/// The newest ones, oldest first; at least one, to know from where on to follow.
async fn newest(access: &Access, options: &Options) -> anyhow::Result<Vec<ReceiptLine>> {
    let limit = Some(options.lines.max(1));
    let mut lines = access.receipts(&ReceiptQuery { limit, ..options.filter.query() }).await?.items;
    lines.reverse();
    Ok(lines)
}

/// All since a time, oldest first.
async fn since(access: &Access, options: &Options, time: Option<DateTime<Utc>>) -> anyhow::Result<Vec<ReceiptLine>> {
    let filter = options.filter.query();
    let mut query = ReceiptQuery { since: time.or(filter.since), limit: Some(PAGE_LIMIT_MAX), ..filter };
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
        eprintln!("note: more came in than can be shown; older ones were passed over");
    }
    lines.reverse();
    Ok(lines)
}

fn line_of(line: &ReceiptLine, globals: &Globals) -> anyhow::Result<String> {
    if globals.json {
        return Ok(serde_json::to_string(line)?);
    }
    let mut cells = cells(line);
    cells[5] = globals.palette().paint(Paint::of_states(&cells[5]), &cells[5]);
    Ok(cells.join("  ").trim_end().to_owned())
}

fn interval(text: &str) -> Result<Duration, String> {
    let every = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let is_usable = (Duration::from_millis(100)..=Duration::from_secs(3_600)).contains(&every);
    if is_usable { Ok(every) } else { Err("write 100ms to 1h".to_owned()) }
}

impl Shown {
    /// Whether a receipt was not shown yet. It counts as shown then.
    fn is_new(&mut self, line: &ReceiptLine) -> bool {
        self.newest = self.newest.max(Some(line.received_at));
        self.at.insert(line.id, line.received_at).is_none()
    }

    /// From when on to look again. Forgets what is older.
    fn go_on(&mut self) -> Option<DateTime<Utc>> {
        let from = self.newest? - OVERLAP;
        self.at.retain(|_, at| *at >= from);
        Some(from)
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
    fn a_receipt_is_shown_once_although_each_look_goes_back() {
        let mut shown = Shown::default();
        assert_eq!(shown.go_on(), None, "nothing was there yet");
        assert!(shown.is_new(&line(1, 0)) && shown.is_new(&line(2, 20)));
        assert_eq!(shown.go_on(), Some(sample::morning() + TimeDelta::seconds(10)));
        assert!(!shown.is_new(&line(2, 20)), "it was shown");
        assert!(shown.is_new(&line(3, 15)), "it was committed late");
        assert_eq!(shown.at.len(), 2, "what no look reaches is forgotten");
    }
}
