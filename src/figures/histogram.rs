//! Times in buckets: each bucket ends at 2^(1/4) times where it begins, from 1 µs up to 12 days. A quantile is told as the
//! middle of its bucket, which is at most 2^(1/8), that is 9.1 %, away from the exact one. Pure.

use std::{collections::BTreeMap, time::Duration};

/// Buckets to each doubling.
const PER_DOUBLING: f64 = 4.0;

/// The last bucket has everything that is longer.
const LAST: u8 = 160;

/// How many times fell into which bucket. Sparse: a source or destination hits a few of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram(BTreeMap<u8, u64>);

impl Histogram {
    /// Adds one time.
    pub fn add(&mut self, took: Duration) {
        self.add_to(bucket_of(took), 1);
    }

    /// Adds `count` times to a bucket; what lies behind the last one goes into that.
    pub fn add_to(&mut self, bucket: u8, count: u64) {
        *self.0.entry(bucket.min(LAST)).or_default() += count;
    }

    /// Adds all that is in another.
    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(bucket, count)| self.add_to(*bucket, *count));
    }

    /// The buckets that are not empty, from the shortest times to the longest.
    pub fn buckets(&self) -> impl Iterator<Item = (u8, u64)> + '_ {
        self.0.iter().map(|(bucket, count)| (*bucket, *count))
    }

    /// The time that a share of all (0.99: 99 of 100) did not exceed, in milliseconds; `None` when there is none.
    #[must_use]
    pub fn quantile_ms(&self, share: f64) -> Option<f64> {
        let all: u64 = self.0.values().sum();
        let mut missing = rank(share, all)?;
        for (bucket, count) in &self.0 {
            if missing <= *count {
                return Some(middle_us(*bucket) / 1_000.0);
            }
            missing -= count;
        }
        None
    }
}

/// The place of the quantile among all times, from 1; `None` when there are none.
fn rank(share: f64, all: u64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and `all`")]
    let rank = (share.clamp(0.0, 1.0) * all as f64).ceil() as u64;
    (all > 0).then(|| rank.clamp(1, all))
}

fn bucket_of(took: Duration) -> u8 {
    let place = (took.as_secs_f64() * 1e6).max(1.0).log2() * PER_DOUBLING;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 160")]
    let bucket = place.min(f64::from(LAST)) as u8;
    bucket
}

fn middle_us(bucket: u8) -> f64 {
    ((f64::from(bucket) + 0.5) / PER_DOUBLING).exp2()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact_ms(times: &mut [u64], share: f64) -> f64 {
        times.sort_unstable();
        let place = rank(share, times.len() as u64).unwrap();
        times[usize::try_from(place - 1).unwrap()] as f64 / 1_000.0
    }

    proptest! {
        /// From 10 µs to 11 days.
        #[test]
        fn a_quantile_is_within_10_percent_of_the_exact_one(
            mut times in prop::collection::vec(prop_oneof![10_u64..10_000, 10_u64..1_000_000_000_000], 1..300),
            share in prop_oneof![Just(0.5), Just(0.99), 0.0..1.0],
        ) {
            let mut histogram = Histogram::default();
            times.iter().for_each(|us| histogram.add(Duration::from_micros(*us)));
            let (told, exact) = (histogram.quantile_ms(share).unwrap(), exact_ms(&mut times, share));
            prop_assert!((told / exact - 1.0).abs() < 0.1, "{told} ms for {exact} ms");
        }

        /// Of two processes, or of two minutes.
        #[test]
        fn merged_histograms_are_that_of_all_times(one in prop::collection::vec(any::<u32>(), 0..50),
                                                   other in prop::collection::vec(any::<u32>(), 0..50)) {
            let of = |times: &[u32]| {
                let mut histogram = Histogram::default();
                times.iter().for_each(|us| histogram.add(Duration::from_micros(u64::from(*us))));
                histogram
            };
            let mut merged = of(&one);
            merged.merge(&of(&other));
            prop_assert_eq!(merged, of(&[one, other].concat()));
        }
    }

    #[test]
    fn nothing_measured_has_no_quantile_and_extremes_have_a_bucket() {
        assert_eq!(Histogram::default().quantile_ms(0.5), None);
        for took in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
            let mut histogram = Histogram::default();
            histogram.add(took);
            assert!(histogram.quantile_ms(0.99).is_some(), "{took:?}");
        }
    }
}
