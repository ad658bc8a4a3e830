//! Plots as SVG, drawn here: numbers over time as stacked bars or as lines, with axes in words, and the same numbers as a
//! table for whoever cannot see them. Takes numbers, gives markup; knows nothing of deliveries.

use askama::{Template, filters::HtmlSafe};
use chrono::{DateTime, Utc};

use super::{fields::iso, pieces::grouped};

/// The drawing's inner size, in its own units: it grows and shrinks with the page.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 140.0;

/// Where the drawing begins: left of it stand the numbers of the axis.
const LEFT: f64 = 56.0;
const TOP: f64 = 10.0;

/// One kind of number over time.
pub(super) struct Strand {
    /// Its name, for the legend and the table.
    pub(super) name: &'static str,
    /// Its class in the style sheet.
    pub(super) class: &'static str,
    /// One number a point; `None`: nothing was measured.
    pub(super) values: Vec<Option<f64>>,
}

/// What is measured.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Count,
    Milliseconds,
}

impl Unit {
    fn word(self) -> &'static str {
        match self {
            Self::Count => "per point",
            Self::Milliseconds => "time taken",
        }
    }

    fn write(self, value: f64) -> String {
        match self {
            #[expect(clippy::cast_possible_truncation, reason = "a count is far from the bounds of i64")]
            Self::Count => grouped(value.round() as i64),
            Self::Milliseconds => super::pieces::took(value),
        }
    }
}

struct Bar {
    x: String,
    y: String,
    height: String,
    class: &'static str,
    tip: String,
}

struct Trace {
    class: &'static str,
    points: String,
}

struct Tick {
    at: String,
    text: String,
    iso: String,
}

struct Row {
    iso: String,
    time: String,
    cells: Vec<String>,
}

/// A plot, ready to stand on a page.
#[derive(Template)]
#[template(path = "plot.html")]
pub(super) struct Plot {
    id: &'static str,
    title: &'static str,
    summary: String,
    unit: &'static str,
    strands: Vec<Strand>,
    bars: Vec<Bar>,
    bar_width: String,
    traces: Vec<Trace>,
    levels: Vec<Tick>,
    moments: Vec<Tick>,
    rows: Vec<Row>,
    is_empty: bool,
}

impl HtmlSafe for Plot {}

impl Plot {
    /// The strands one upon the other: they are parts of a whole.
    pub(super) fn bars(id: &'static str, title: &'static str, times: &[DateTime<Utc>], strands: Vec<Strand>) -> Self {
        let mut plot = Self::new(id, title, times, strands, Unit::Count);
        let totals = (0..times.len()).map(|at| plot.strands.iter().filter_map(|s| s.values[at]).sum::<f64>());
        let top = nice(totals.fold(0.0, f64::max));
        plot.levels = levels(top, Unit::Count);
        let step = WIDTH / count(times.len().max(1));
        plot.bar_width = number((step - 1.0).max(1.0));
        for (at, time) in times.iter().enumerate() {
            let mut below = 0.0;
            for strand in &plot.strands {
                let Some(value) = strand.values[at].filter(|value| *value > 0.0) else { continue };
                plot.bars.push(Bar {
                    x: number(LEFT + step * count(at)),
                    y: number(TOP + HEIGHT * (1.0 - (below + value) / top)),
                    height: number((HEIGHT * value / top).max(1.0)),
                    class: strand.class,
                    tip: format!("{} UTC: {} {}", time.format("%m-%d %H:%M"), Unit::Count.write(value), strand.name),
                });
                below += value;
            }
        }
        plot
    }

    /// Each strand as a line of its own, broken where nothing was measured.
    pub(super) fn lines(id: &'static str, title: &'static str, times: &[DateTime<Utc>], strands: Vec<Strand>) -> Self {
        let mut plot = Self::new(id, title, times, strands, Unit::Milliseconds);
        let all = plot.strands.iter().flat_map(|strand| strand.values.iter().flatten());
        let top = nice(all.copied().fold(0.0, f64::max));
        plot.levels = levels(top, Unit::Milliseconds);
        let step = WIDTH / count(times.len().max(1));
        for strand in &plot.strands {
            for run in runs(&strand.values) {
                let place = |(at, value): &(usize, f64), aside: f64| {
                    let (x, y) = (LEFT + step * (count(*at) + 0.5) + aside, TOP + HEIGHT * (1.0 - value / top));
                    format!("{},{}", number(x), number(y))
                };
                let points: Vec<String> = match run.as_slice() {
                    // One measured point alone would be a line without length, which cannot be seen.
                    [only] => vec![place(only, -2.0), place(only, 2.0)],
                    many => many.iter().map(|point| place(point, 0.0)).collect(),
                };
                plot.traces.push(Trace { class: strand.class, points: points.join(" ") });
            }
        }
        plot
    }

    fn new(id: &'static str, title: &'static str, times: &[DateTime<Utc>], strands: Vec<Strand>, unit: Unit) -> Self {
        let rows = times.iter().enumerate().map(|(at, time)| Row {
            iso: iso(*time),
            time: time.format("%Y-%m-%d %H:%M").to_string(),
            cells: strands.iter().map(|s| s.values[at].map_or_else(|| "–".to_owned(), |v| unit.write(v))).collect(),
        });
        let rows = rows.collect();
        let is_empty = strands.iter().all(|strand| strand.values.iter().flatten().all(|value| *value == 0.0));
        Self {
            id,
            title,
            summary: summary(times, &strands, unit),
            unit: unit.word(),
            strands,
            bars: Vec::new(),
            bar_width: String::new(),
            traces: Vec::new(),
            levels: Vec::new(),
            moments: moments(times),
            rows,
            is_empty,
        }
    }
}

/// One sentence that says what the drawing shows.
fn summary(times: &[DateTime<Utc>], strands: &[Strand], unit: Unit) -> String {
    let (Some(from), Some(to)) = (times.first(), times.last()) else { return "Nothing was measured.".to_owned() };
    let told = strands.iter().map(|strand| {
        let measured: Vec<f64> = strand.values.iter().flatten().copied().collect();
        let (sum, most) = (measured.iter().sum::<f64>(), measured.iter().copied().fold(0.0, f64::max));
        match unit {
            Unit::Count => format!("{} {}", unit.write(sum), strand.name),
            Unit::Milliseconds if measured.is_empty() => format!("{} not measured", strand.name),
            Unit::Milliseconds => format!("{} at most {}", strand.name, unit.write(most)),
        }
    });
    let told: Vec<String> = told.collect();
    format!("From {} to {} UTC: {}.", from.format("%Y-%m-%d %H:%M"), to.format("%Y-%m-%d %H:%M"), told.join(", "))
}

/// The smallest of 1, 2, 5, 10, 20, 50, … that is not below `value`.
fn nice(value: f64) -> f64 {
    if value <= 1.0 {
        return 1.0;
    }
    let tens = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * tens).find(|level| *level >= value).unwrap_or(value)
}

fn levels(top: f64, unit: Unit) -> Vec<Tick> {
    let tick =
        |part: f64| Tick { at: number(TOP + HEIGHT * (1.0 - part)), text: unit.write(top * part), iso: String::new() };
    // Half of 1 would be written as 1 again.
    let parts: &[f64] = if top <= 1.0 { &[0.0, 1.0] } else { &[0.0, 0.5, 1.0] };
    parts.iter().map(|part| tick(*part)).collect()
}

/// Times below the drawing: at its begin, in its middle, at its end.
fn moments(times: &[DateTime<Utc>]) -> Vec<Tick> {
    let form = match (times.first(), times.last()) {
        (Some(from), Some(to)) if (*to - *from).num_hours() >= 24 => "%m-%d %H:%M",
        _ => "%H:%M",
    };
    let places = [0, times.len() / 2, times.len().saturating_sub(1)];
    let step = WIDTH / count(times.len().max(1));
    let mut ticks: Vec<Tick> = Vec::new();
    for at in places {
        let Some(time) = times.get(at) else { continue };
        let tick =
            Tick { at: number(LEFT + step * (count(at) + 0.5)), text: time.format(form).to_string(), iso: iso(*time) };
        if ticks.iter().all(|held| held.at != tick.at) {
            ticks.push(tick);
        }
    }
    ticks
}

/// Measured points that follow one another.
fn runs(values: &[Option<f64>]) -> Vec<Vec<(usize, f64)>> {
    let mut runs: Vec<Vec<(usize, f64)>> = Vec::new();
    let mut is_open = false;
    for (at, value) in values.iter().enumerate() {
        match value {
            None => is_open = false,
            Some(value) if is_open => runs.last_mut().expect("a run is open").push((at, *value)),
            Some(value) => {
                runs.push(vec![(at, *value)]);
                is_open = true;
            }
        }
    }
    runs
}

#[expect(clippy::cast_precision_loss, reason = "there are at most some hundred points")]
fn count(number: usize) -> f64 {
    number as f64
}

/// One decimal is finer than a pixel.
fn number(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(points: usize) -> Vec<DateTime<Utc>> {
        let minute = |at: usize| DateTime::from_timestamp(1_767_607_200 + 60 * i64::try_from(at).unwrap(), 0).unwrap();
        (0..points).map(minute).collect()
    }

    #[test]
    fn the_axis_ends_at_a_round_number() {
        let levels = [0.0, 1.0, 3.0, 37.0, 50.0, 51.0, 4_200.0].map(nice);
        assert_eq!(levels, [1.0, 1.0, 5.0, 50.0, 50.0, 100.0, 5_000.0]);
    }

    #[test]
    fn bars_stand_upon_one_another_and_the_table_has_the_same_numbers() {
        let strands = vec![
            Strand { name: "accepted", class: "plot-good", values: vec![Some(3.0), Some(0.0)] },
            Strand { name: "rejected", class: "plot-bad", values: vec![Some(1.0), None] },
        ];
        let html = Plot::bars("requests", "Requests", &times(2), strands).to_string();
        assert_eq!(
            html.matches("<rect class=\"plot-good\" x=").count() + html.matches("<rect class=\"plot-bad\" x=").count(),
            2,
            "{html}"
        );
        for told in [
            "10:00 UTC: 3 accepted",
            "1 rejected",
            "3 accepted, 1 rejected",
            "<td>3</td>",
            "<td>–</td>",
            "role=\"img\"",
        ] {
            assert!(html.contains(told), "{told} is missing in {html}");
        }
        assert!(!html.contains("style="), "{html}");
    }

    #[test]
    fn a_line_is_broken_where_nothing_was_measured() {
        let values = vec![Some(1.0), Some(2.0), None, Some(4.0)];
        let html = Plot::lines("answer", "Answer", &times(4), vec![Strand { name: "p50", class: "plot-p50", values }])
            .to_string();
        assert_eq!(html.matches("<polyline").count(), 2, "{html}");
        let empty = Plot::lines("answer", "Answer", &[], Vec::new()).to_string();
        assert!(empty.contains("Nothing was measured"), "{empty}");
    }
}
