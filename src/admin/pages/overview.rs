//! `/`: what is wrong first, then what came in, what went out, and how fast.

use actix_web::{HttpResponse, web};
use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};

use super::{
    overview_plots::plots,
    pieces::{Moment, between, counted, grouped, took},
    plot::Plot,
    shell::{Here, Shell},
    trouble::{Trouble, troubles},
    visit::Visit,
};
use crate::operate::{Desk, Latency, Result, Series, Stats, StatsQuery};

/// One of the ranges that can be picked.
pub(super) struct Range {
    pub(super) code: &'static str,
    pub(super) word: &'static str,
    minutes: i64,
    points: u32,
}

const RANGES: [Range; 6] = [
    Range { code: "15m", word: "15 min", minutes: 15, points: 15 },
    Range { code: "1h", word: "1 h", minutes: 60, points: 60 },
    Range { code: "6h", word: "6 h", minutes: 360, points: 72 },
    Range { code: "24h", word: "24 h", minutes: 1_440, points: 96 },
    Range { code: "7d", word: "7 d", minutes: 10_080, points: 84 },
    Range { code: "31d", word: "31 d", minutes: 44_640, points: 93 },
];

/// The one that is shown if nobody picked one.
const DEFAULT_RANGE: usize = 1;

/// What came in beyond what was taken: every way in which a request is turned away.
pub(super) const REJECTIONS: [(&str, &str); 7] = [
    ("unverified", "no valid signature"),
    ("malformed", "not understood"),
    ("suspected_replay", "suspected replay"),
    ("too_large", "too large"),
    ("too_slow", "too slow"),
    ("not_recorded", "not stored"),
    ("unknown_source", "no such source"),
];

/// States of which the present number is shown, and whether that is a place where deliveries ought not to be.
const STATES: [(&str, &str); 5] =
    [("waiting", "busy"), ("queued", "busy"), ("running", "busy"), ("retrying", "warn"), ("dead", "bad")];

/// Deliveries of one state are counted up to here.
const COUNTED_MAX: i64 = 100_000;

struct Figure {
    name: &'static str,
    value: String,
    tone: &'static str,
    link: String,
}

/// One source or destination.
struct Line {
    name: String,
    link: String,
    cells: Vec<String>,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    shell: Shell,
    ranges: &'static [Range],
    range: &'static Range,
    troubles: Vec<Trouble>,
    arrived: Vec<Figure>,
    rejected: Vec<Figure>,
    states: Vec<Figure>,
    oldest: Option<(Moment, String)>,
    answer: (String, String),
    done: (String, String),
    plots: Vec<Plot>,
    sources: Vec<Line>,
    destinations: Vec<Line>,
    has_receipts: bool,
}

/// Shows it.
pub(super) async fn show(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    visit.answer(overview(&desk, &visit).await)
}

async fn overview(desk: &Desk, visit: &Visit) -> Result<Overview> {
    let range = RANGES.iter().find(|range| visit.fields.is("range", range.code)).unwrap_or(&RANGES[DEFAULT_RANGE]);
    let mut query = StatsQuery { points: Some(range.points), ..StatsQuery::default() };
    // Without a range the figures end now and begin an hour before.
    let now = desk.stats(&StatsQuery { points: Some(1), ..StatsQuery::default() }).await?.until;
    query.until = Some(now);
    query.since = Some(now - TimeDelta::minutes(range.minutes));
    let stats = desk.stats(&query).await?;
    let troubles = troubles(desk, &stats).await?;
    Ok(Overview {
        shell: visit.shell("Overview", Here::Overview).renewing(30),
        ranges: &RANGES,
        range,
        troubles,
        arrived: arrived(&stats.total),
        rejected: rejected(&stats.total),
        states: states(&stats),
        oldest: stats.backlog.oldest_waiting_since.map(|since| (Moment::of(since), between(since, stats.until))),
        answer: quantiles(stats.total.answer),
        done: quantiles(stats.total.done),
        plots: plots(&stats),
        sources: lines(&stats.by_source, "/sources/", &["accepted", "duplicate", "conflict"], true),
        destinations: lines(&stats.by_destination, "/destinations#", &["succeeded", "failed", "dead"], false),
        has_receipts: has_receipts(desk, &stats).await,
    })
}

/// Whether there has ever been a receipt: if not, the page teaches how the first one gets here.
async fn has_receipts(desk: &Desk, stats: &Stats) -> bool {
    let seen = ["accepted", "duplicate", "conflict"].iter().any(|word| sum(&stats.total, word) > 0);
    let query = crate::operate::ReceiptQuery { limit: Some(1), ..Default::default() };
    seen || desk.receipts(&query).await.is_ok_and(|page| !page.items.is_empty())
}

pub(super) fn sum(series: &Series, word: &str) -> i64 {
    series.sums.get(word).copied().unwrap_or(0)
}

fn arrived(total: &Series) -> Vec<Figure> {
    let figure = |name, word, tone, link: &str| {
        let value = sum(total, word);
        Figure { name, value: grouped(value), tone: if value > 0 { tone } else { "" }, link: link.to_owned() }
    };
    vec![
        figure("accepted", "accepted", "good", "/receipts"),
        figure("duplicates", "duplicate", "", "/receipts"),
        figure("conflicts", "conflict", "warn", "/conflicts"),
    ]
}

fn rejected(total: &Series) -> Vec<Figure> {
    let told = REJECTIONS.iter().filter(|(word, _)| sum(total, word) > 0);
    told.map(|(word, name)| Figure { name, value: grouped(sum(total, word)), tone: "bad", link: "/sources".to_owned() })
        .collect()
}

fn states(stats: &Stats) -> Vec<Figure> {
    let figure = |(name, tone): &(&'static str, &'static str)| {
        let value = stats.backlog.deliveries.get(*name).copied().unwrap_or(0);
        let link = if *name == "dead" { "/dead-letters".to_owned() } else { format!("/deliveries?state={name}") };
        Figure { name, value: counted(value, COUNTED_MAX), tone: if value > 0 { tone } else { "" }, link }
    };
    STATES.iter().map(figure).collect()
}

fn quantiles(latency: Latency) -> (String, String) {
    let written = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), took);
    (written(latency.p50_ms), written(latency.p99_ms))
}

fn lines(
    series: &std::collections::BTreeMap<String, Series>,
    path: &str,
    words: &[&str],
    with_rejections: bool,
) -> Vec<Line> {
    let line = |(name, series): (&String, &Series)| {
        let mut cells: Vec<String> = words.iter().map(|word| grouped(sum(series, word))).collect();
        if with_rejections {
            cells.push(grouped(REJECTIONS.iter().map(|(word, _)| sum(series, word)).sum()));
        }
        let (half, most) = quantiles(if with_rejections { series.answer } else { series.done });
        cells.extend([half, most]);
        // Requests to no source at all stand under an empty name.
        let (name, link) = match name.as_str() {
            "" => ("(no such source)".to_owned(), String::new()),
            known => (known.to_owned(), format!("{path}{known}")),
        };
        Line { name, link, cells }
    };
    series.iter().map(line).collect()
}

/// The points' times.
pub(super) fn times(series: &Series) -> Vec<DateTime<Utc>> {
    series.points.iter().map(|point| point.at).collect()
}
