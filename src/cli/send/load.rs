//! A closed loop: so many connections, each of which sends its next request when the answer to the last one has come. All
//! requests are signed before the clock starts. What it measures is what a sender sees.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::Client;
use tokio::task::JoinSet;

use super::{
    letter::SealedLetter,
    post::{Answer, post},
};

/// What was measured.
#[derive(Debug, Clone, serde::Serialize)]
pub(in crate::cli) struct LoadReport {
    requests: usize,
    concurrency: usize,
    took_ms: f64,
    requests_per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
    /// Answers by HTTP status and the word in the body, such as `200 accepted`; `no answer: …` where none came.
    answers: BTreeMap<String, usize>,
    #[serde(skip)]
    all_succeeded: bool,
}

/// Sends all letters over `concurrency` connections.
pub(in crate::cli) async fn run_load(
    client: &Client,
    url: &url::Url,
    letters: Vec<SealedLetter>,
    concurrency: usize,
) -> LoadReport {
    let (letters, next) = (Arc::new(letters), Arc::new(AtomicUsize::new(0)));
    let started = Instant::now();
    let mut senders = JoinSet::new();
    for _ in 0..concurrency {
        let (client, url, letters, next) = (client.clone(), url.clone(), Arc::clone(&letters), Arc::clone(&next));
        senders.spawn(async move {
            let mut samples = Vec::new();
            while let Some(letter) = letters.get(next.fetch_add(1, Ordering::Relaxed)) {
                let began = Instant::now();
                let answer = post(&client, &url, letter).await;
                samples.push((began.elapsed(), answer.map_err(|error| format!("no answer: {error}"))));
            }
            samples
        });
    }
    let samples: Vec<_> = senders.join_all().await.into_iter().flatten().collect();
    LoadReport::of(samples, concurrency, started.elapsed())
}

impl LoadReport {
    /// Counts what was measured.
    pub(in crate::cli) fn of(
        samples: Vec<(Duration, Result<Answer, String>)>,
        concurrency: usize,
        took: Duration,
    ) -> Self {
        let mut times: Vec<Duration> = samples.iter().map(|(time, _)| *time).collect();
        times.sort_unstable();
        let mut answers = BTreeMap::new();
        let all_succeeded = samples.iter().all(|(_, answer)| answer.as_ref().is_ok_and(Answer::is_success));
        for (_, answer) in samples {
            *answers.entry(answer.map_or_else(|error| error, |answer| answer.label())).or_insert(0) += 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of requests is far below 2^52")]
        let requests_per_second = times.len() as f64 / took.as_secs_f64().max(f64::EPSILON);
        Self {
            requests: times.len(),
            concurrency,
            took_ms: milliseconds(took),
            requests_per_second,
            p50_ms: milliseconds(percentile(&times, 50)),
            p99_ms: milliseconds(percentile(&times, 99)),
            max_ms: milliseconds(percentile(&times, 100)),
            answers,
            all_succeeded,
        }
    }

    /// Whether every answer was a 2xx.
    pub(in crate::cli) fn all_succeeded(&self) -> bool {
        self.all_succeeded
    }

    /// The report for people.
    pub(in crate::cli) fn view(&self) -> String {
        let answers: Vec<_> = self.answers.iter().map(|(label, number)| format!("\n  {number:>8}  {label}")).collect();
        format!(
            "{} requests over {} connections in {:.2} s: {:.0} a second\n\
             answer times: p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms\n\
             answers:{}",
            self.requests,
            self.concurrency,
            self.took_ms / 1_000.0,
            self.requests_per_second,
            self.p50_ms,
            self.p99_ms,
            self.max_ms,
            answers.concat()
        )
    }
}

/// The nearest-rank percentile of sorted times; zero of none.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Result<Answer, String> {
        Ok(Answer { status, body: body.as_bytes().to_vec() })
    }

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        for (percent, expected) in [(50, 100), (99, 198), (100, 200)] {
            assert_eq!(percentile(&times, percent), Duration::from_millis(expected));
        }
        assert_eq!(percentile(&times[..1], 50), Duration::from_millis(1));
        assert_eq!(percentile(&[], 99), Duration::ZERO);
    }

    #[test]
    fn a_load_report_counts_answers_by_what_they_say() {
        let ms = Duration::from_millis;
        let samples = vec![
            (ms(1), answer(200, r#"{"status":"accepted"}"#)),
            (ms(2), answer(200, r#"{"status":"accepted"}"#)),
            (ms(3), answer(200, r#"{"status":"duplicate"}"#)),
            (ms(9), answer(503, r#"{"status":503,"title":"cannot store"}"#)),
            (ms(5), Err("no answer: connection refused".to_owned())),
        ];
        let report = LoadReport::of(samples, 2, ms(10));
        assert!(!report.all_succeeded());
        insta::assert_snapshot!(report.view(), @"
        5 requests over 2 connections in 0.01 s: 500 a second
        answer times: p50 3.0 ms, p99 9.0 ms, max 9.0 ms
        answers:
                 2  200 accepted
                 1  200 duplicate
                 1  503 cannot store
                 1  no answer: connection refused
        ");
    }
}
