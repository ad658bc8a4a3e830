//! What is sent when: takes how many fixtures there are and a seed, gives the same plan each time. Pure.

use sha2::{Digest as _, Sha256};

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// Which fixture.
    pub(super) fixture: usize,
    /// Whether it was sent before: a redelivery, with the same id.
    pub(super) is_copy: bool,
}

/// Every fixture once, in order or shuffled; and so many in a hundred once more, somewhere behind their first time.
pub(super) fn plan(fixtures: usize, is_shuffled: bool, duplicate_percent: u8, seed: u64) -> Vec<Turn> {
    let mut order: Vec<usize> = (0..fixtures).collect();
    if is_shuffled {
        order.sort_by_key(|fixture| draw(seed, "order", *fixture));
    }
    let copies = (fixtures * usize::from(duplicate_percent)).div_ceil(100);
    let mut copied: Vec<usize> = (0..fixtures).collect();
    copied.sort_by_key(|fixture| draw(seed, "copy", *fixture));
    copied.truncate(copies);
    let mut turns: Vec<Turn> = order.into_iter().map(|fixture| Turn { fixture, is_copy: false }).collect();
    for fixture in copied {
        let first = turns.iter().position(|turn| turn.fixture == fixture).unwrap_or(0);
        let room = u64::try_from(turns.len() - first).unwrap_or(u64::MAX);
        let behind = usize::try_from(draw(seed, "place", fixture) % room).unwrap_or(0);
        turns.insert(first + 1 + behind, Turn { fixture, is_copy: true });
    }
    turns
}

/// A number that looks like chance, and is the same on every machine and with every version.
fn draw(seed: u64, what: &str, fixture: usize) -> u64 {
    let digest = Sha256::digest(format!("{seed}/{what}/{fixture}"));
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_plan_and_another_another() {
        assert_eq!(plan(50, true, 10, 7), plan(50, true, 10, 7));
        assert_ne!(plan(50, true, 10, 7), plan(50, true, 10, 8));
        let kept: Vec<_> = plan(3, false, 0, 7).iter().map(|turn| turn.fixture).collect();
        assert_eq!(kept, [0, 1, 2]);
        let shuffled: Vec<_> = plan(8, true, 0, 7).iter().map(|turn| turn.fixture).collect();
        insta::assert_snapshot!(format!("{shuffled:?}"), @"[3, 6, 0, 2, 7, 4, 5, 1]");
    }

    #[test]
    fn so_many_in_a_hundred_are_sent_once_more_behind_their_first_time() {
        for (fixtures, percent, copies) in [(50, 10, 5), (3, 10, 1), (3, 0, 0), (4, 100, 4), (0, 50, 0)] {
            let turns = plan(fixtures, true, percent, 1);
            assert_eq!(turns.len(), fixtures + copies, "{fixtures} {percent}");
            for (place, turn) in turns.iter().enumerate().filter(|(_, turn)| turn.is_copy) {
                assert!(turns[..place].contains(&Turn { fixture: turn.fixture, is_copy: false }));
            }
        }
    }
}
