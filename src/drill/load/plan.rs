//! Which events are sent when: takes the seed and a scale, gives the same plan each time. Pure.

use std::{collections::BTreeMap, time::Duration};

use rand::{Rng as _, RngExt as _, SeedableRng as _, rngs::StdRng};

use super::{
    bodies::{self, HOSTILE, Moment},
    letter::{FORGERIES, Forgery, Letter},
};
use crate::drill::profile::Scale;

/// Of a hundred new events.
const REPEATED: u32 = 10;
const TWINNED: u32 = 10;
const CONFLICTING: u32 = 1;
const REORDERED: u32 = 5;
const FORGED: u32 = 2;
const HOSTILE_SHARE: u32 = 1;
const HOT: u32 = 15;

/// Subjects that many events are about, sent over all connections at once.
const HOT_SUBJECTS: u64 = 4;
/// Subjects that the others are about, one connection each.
const COLD_SUBJECTS: u64 = 500;
const FIRST_SUBJECT: u64 = 1_000;
/// 2026-01-01: when the first event of each subject happened. Later ones follow by the second.
const FIRST_TIME: i64 = 1_767_225_600;

/// All events, in the order in which they are due.
#[derive(Debug)]
pub struct Plan {
    /// The events.
    pub events: Vec<Event>,
}

/// One event, to be sent once or more often.
#[derive(Debug, Clone)]
pub struct Event {
    /// When it is due, after the start of the load.
    pub at: Duration,
    /// Which connection sends it.
    pub connection: usize,
    /// What it is.
    pub kind: Kind,
    /// Its place in its subject's history.
    pub moment: Moment,
    /// The provider's id.
    pub delivery_id: String,
    /// Sent by two connections at the same moment.
    pub is_twinned: bool,
    /// Sent again after it was acknowledged.
    pub is_repeated: bool,
    /// Followed by another payload under the same id.
    pub is_conflicting: bool,
    body_seed: u64,
}

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The next of its subject.
    New,
    /// One that a later event of its subject has overtaken.
    Reordered,
    /// One that must not be believed.
    Forged(Forgery),
    /// Signed, and a nuisance.
    Hostile(&'static str),
}

impl Kind {
    /// Its name in the journal.
    pub fn variant(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Reordered => "reordered",
            Self::Forged(_) => "forged",
            Self::Hostile(_) => "hostile",
        }
    }
}

impl Event {
    /// The request.
    pub fn letter(&self) -> Letter {
        match self.kind {
            Kind::Hostile(kind) => {
                Letter::sealed(&self.delivery_id, "issues", bodies::hostile_body(kind, &self.delivery_id))
            }
            Kind::Forged(how) => self.sealed("forged").forged(how),
            Kind::New | Kind::Reordered => self.sealed("true"),
        }
    }

    /// Another payload under the same id.
    pub fn conflicting_letter(&self) -> Letter {
        self.sealed("another payload")
    }

    fn sealed(&self, note: &str) -> Letter {
        let body = bodies::body_of(self.moment, note, &mut StdRng::seed_from_u64(self.body_seed));
        Letter::sealed(&self.delivery_id, bodies::event_of(self.moment.subject), body)
    }

    /// The ordering key that the product must find, where the body has one.
    pub fn key(&self) -> Option<String> {
        (!matches!(self.kind, Kind::Hostile(_))).then(|| bodies::key_of(self.moment.subject))
    }
}

impl Plan {
    /// Plans a load.
    pub fn of(seed: u64, scale: &Scale) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut events = Vec::with_capacity(scale.events);
        let mut seqs = BTreeMap::new();
        let mut overtaken: BTreeMap<u64, Event> = BTreeMap::new();
        let step = scale.load.div_f64(f64::from(u32::try_from(scale.events).unwrap_or(u32::MAX).max(1)));
        let mut at = Duration::ZERO;
        for _ in 0..scale.events {
            at += step.mul_f64(rng.random_range(0.0..2.0));
            let mut event = draw(&mut rng, at, scale.connections);
            if matches!(event.kind, Kind::New) {
                let seq: &mut u64 = seqs.entry(event.moment.subject).or_default();
                *seq += 1;
                event.moment = moment(event.moment.subject, *seq);
                if let Some(mut late) = overtaken.remove(&event.moment.subject) {
                    (late.at, late.kind) = (event.at, Kind::Reordered);
                    events.extend([event, late]);
                    continue;
                }
                if percent(&mut rng, REORDERED) {
                    overtaken.insert(event.moment.subject, event);
                    continue;
                }
            }
            events.push(event);
        }
        events.extend(overtaken.into_values());
        events.sort_by_key(|event| event.at);
        Self { events }
    }
}

fn draw(rng: &mut StdRng, at: Duration, connections: usize) -> Event {
    let is_hot = percent(rng, HOT);
    let subject = if is_hot {
        FIRST_SUBJECT + rng.random_range(0..HOT_SUBJECTS)
    } else {
        FIRST_SUBJECT + HOT_SUBJECTS + rng.random_range(0..COLD_SUBJECTS)
    };
    let kind = match rng.random_range(0..100) {
        share if share < FORGED => Kind::Forged(FORGERIES[rng.random_range(0..FORGERIES.len())]),
        share if share < FORGED + HOSTILE_SHARE => Kind::Hostile(HOSTILE[rng.random_range(0..HOSTILE.len())]),
        _ => Kind::New,
    };
    let fate = rng.random_range(0..100);
    let is_true = matches!(kind, Kind::New);
    let own_connection = usize::try_from(subject).unwrap_or_default() % connections;
    let uuid = uuid::Builder::from_random_bytes(rng.random()).into_uuid();
    Event {
        at,
        connection: if is_hot { rng.random_range(0..connections) } else { own_connection },
        kind,
        moment: moment(subject, u64::from(rng.next_u32()) + 1_000_000),
        delivery_id: uuid.to_string(),
        is_twinned: is_true && fate < TWINNED,
        is_repeated: is_true && (TWINNED..TWINNED + REPEATED).contains(&fate),
        is_conflicting: is_true && (TWINNED + REPEATED..TWINNED + REPEATED + CONFLICTING).contains(&fate),
        body_seed: rng.next_u64(),
    }
}

/// A subject's history: one event a second. What is forged stands far off.
fn moment(subject: u64, seq: u64) -> Moment {
    Moment { subject, seq, time: FIRST_TIME + i64::try_from(seq).unwrap_or(i64::MAX / 2) }
}

fn percent(rng: &mut StdRng, share: u32) -> bool {
    rng.random_range(0..100) < share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drill::profile::Profile;

    fn plan(seed: u64) -> Plan {
        Plan::of(seed, &Profile::Quick.scale(None, 3))
    }

    #[test]
    fn a_seed_gives_the_same_plan_and_bytes_again() {
        let (one, two) = (plan(7), plan(7));
        assert_eq!(one.events.len(), two.events.len());
        for (one, two) in one.events.iter().zip(&two.events).step_by(97) {
            assert_eq!((one.at, &one.delivery_id), (two.at, &two.delivery_id));
            assert_eq!(one.letter().body, two.letter().body);
        }
        assert_ne!(plan(8).events[0].delivery_id, one.events[0].delivery_id);
    }

    #[test]
    fn each_nuisance_has_its_share() {
        let events = plan(1).events;
        let share =
            |is: &dyn Fn(&Event) -> bool| events.iter().filter(|event| is(event)).count() * 1_000 / events.len();
        assert!((170..230).contains(&share(&|event| event.is_twinned || event.is_repeated)));
        assert!((5..16).contains(&share(&|event| event.is_conflicting)));
        assert!((30..70).contains(&share(&|event| event.kind == Kind::Reordered)));
        assert!((12..30).contains(&share(&|event| matches!(event.kind, Kind::Forged(_)))));
        assert!((5..16).contains(&share(&|event| matches!(event.kind, Kind::Hostile(_)))));
    }

    #[test]
    fn an_overtaken_event_follows_the_one_that_came_before_its_time() {
        let events = plan(3).events;
        let place = events.iter().position(|event| event.kind == Kind::Reordered).unwrap();
        let late = events[place].moment;
        let is_later = |event: &Event| {
            event.kind == Kind::New && event.moment.subject == late.subject && event.moment.seq > late.seq
        };
        assert!(events[..place].iter().any(is_later));
    }

    #[test]
    fn another_payload_differs_in_nothing_but_the_payload() {
        let event = plan(1).events.into_iter().find(|event| event.is_conflicting).unwrap();
        let (first, other) = (event.letter(), event.conflicting_letter());
        assert_eq!(first.delivery_id, other.delivery_id);
        assert_ne!(first.digest(), other.digest());
        assert_eq!(event.key().unwrap(), bodies::key_of(event.moment.subject));
    }
}
