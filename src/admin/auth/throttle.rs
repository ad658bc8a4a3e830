//! How often a token may be tried: by one address, and by all together. In the memory of this process, within bounds; an
//! attempt costs a place in line, and who was right gets it back.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};

/// Addresses that are remembered. A place is free again as soon as its address could try as often as a new one.
const PEERS_MAX: usize = 10_000;

/// So many attempts at once, and then one in each `every`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) burst: i32,
    pub(super) every: Duration,
}

/// Counts attempts. Each line is the time at which it would be empty.
#[derive(Debug)]
pub(super) struct Throttle {
    each: Pace,
    all: Pace,
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    peers: HashMap<IpAddr, DateTime<Utc>>,
    /// Of all addresses for which there was no place.
    others: DateTime<Utc>,
    all: DateTime<Utc>,
}

impl Throttle {
    pub(super) fn new(each: Pace, all: Pace) -> Self {
        Self { each, all, lines: Mutex::default() }
    }

    /// Takes a place in line; or says how long to wait for one.
    pub(super) fn take(&self, peer: IpAddr, now: DateTime<Utc>) -> Result<(), Duration> {
        let mut lines = self.lock();
        let all = self.all.next(&mut lines.all, now);
        let line = lines.of(peer, now);
        let each = self.each.next(line, now);
        let (all, each) = (all?, each?);
        *line = each;
        lines.all = all;
        Ok(())
    }

    /// Whether there is a place, without taking it.
    pub(super) fn look(&self, peer: IpAddr, now: DateTime<Utc>) -> Result<(), Duration> {
        let mut lines = self.lock();
        let all = self.all.next(&mut lines.all, now);
        let each = self.each.next(lines.of(peer, now), now);
        all.and(each).map(drop)
    }

    /// Gives a place back.
    pub(super) fn give_back(&self, peer: IpAddr, now: DateTime<Utc>) {
        let mut lines = self.lock();
        lines.all -= self.all.step();
        *lines.of(peer, now) -= self.each.step();
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        // Times are whole whenever the lock is free.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    fn of(&mut self, peer: IpAddr, now: DateTime<Utc>) -> &mut DateTime<Utc> {
        let peer = network_of(peer);
        if !self.peers.contains_key(&peer) {
            if self.peers.len() >= PEERS_MAX {
                self.peers.retain(|_, empty_at| *empty_at > now);
            }
            if self.peers.len() >= PEERS_MAX {
                return &mut self.others;
            }
        }
        self.peers.entry(peer).or_insert(now)
    }
}

impl Pace {
    fn step(self) -> TimeDelta {
        TimeDelta::from_std(self.every).unwrap_or(TimeDelta::MAX)
    }

    /// When the line will be empty with one more in it.
    fn next(self, empty_at: &mut DateTime<Utc>, now: DateTime<Utc>) -> Result<DateTime<Utc>, Duration> {
        let longest = self.step() * self.burst;
        // A clock that was set back must not keep anybody out for longer than the line is.
        *empty_at = (*empty_at).clamp(now, now + longest);
        let next = *empty_at + self.step();
        match (next - now - longest).to_std() {
            Ok(wait) if !wait.is_zero() => Err(wait),
            _ => Ok(next),
        }
    }
}

/// Whose address it is: of IPv6 everybody has at least 2⁶⁴.
fn network_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { burst: 3, every: Duration::from_secs(10) };
    const WIDE: Pace = Pace { burst: 1_000_000, every: Duration::from_millis(1) };

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn peer(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    #[test]
    fn an_address_waits_after_its_burst_and_others_do_not() {
        let throttle = Throttle::new(PACE, WIDE);
        for _ in 0..3 {
            throttle.take(peer(1), now()).unwrap();
        }
        assert_eq!(throttle.take(peer(1), now()), Err(Duration::from_secs(10)));
        assert_eq!(throttle.look(peer(1), now()), Err(Duration::from_secs(10)));
        throttle.take(peer(2), now()).unwrap();
        let later = now() + TimeDelta::seconds(10);
        throttle.take(peer(1), later).unwrap();
        assert!(throttle.take(peer(1), later).is_err());
        throttle.give_back(peer(1), later);
        throttle.take(peer(1), later).unwrap();
    }

    #[test]
    fn all_together_have_a_limit_too() {
        let throttle = Throttle::new(WIDE, PACE);
        for number in 0..3 {
            throttle.take(peer(number), now()).unwrap();
        }
        assert!(throttle.take(peer(4), now()).is_err());
    }

    #[test]
    fn a_house_has_one_line_however_many_addresses_it_has() {
        let throttle = Throttle::new(PACE, WIDE);
        for address in ["2001:db8::1", "2001:db8::2", "2001:db8::ffff:0:3"] {
            throttle.take(address.parse().unwrap(), now()).unwrap();
        }
        assert!(throttle.take("2001:db8::4".parse().unwrap(), now()).is_err());
        throttle.take("2001:db8:0:1::4".parse().unwrap(), now()).unwrap();
        assert_eq!(network_of("::ffff:192.0.2.1".parse().unwrap()), "192.0.2.1".parse::<IpAddr>().unwrap());
    }

    #[test]
    fn memory_is_bounded_and_who_finds_no_place_shares_one() {
        let throttle = Throttle::new(PACE, WIDE);
        for number in 0..20_000 {
            let _ = throttle.take(peer(number), now());
        }
        assert_eq!(throttle.lock().peers.len(), PEERS_MAX);
        assert!(throttle.take(peer(30_000), now()).is_err());
        throttle.take(peer(30_000), now() + TimeDelta::hours(1)).unwrap();
        assert_eq!(throttle.lock().peers.len(), 1);
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_nobody_out_for_long() {
        let throttle = Throttle::new(PACE, WIDE);
        throttle.take(peer(1), now() + TimeDelta::days(9)).unwrap();
        assert!(throttle.take(peer(1), now()).is_err_and(|wait| wait <= Duration::from_secs(10)));
        throttle.take(peer(1), now() + TimeDelta::seconds(10)).unwrap();
    }
}
