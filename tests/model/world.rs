//! All there is at one moment: what the sender was told, what the receivers and workers are at, what the database holds.
//! Fields that mean nothing in a phase are zero in it, and equals are sorted, so that a moment has one form only.

use std::hash::{Hash, Hasher};

use crate::setting::Faults;

pub const REQUESTS: usize = 3;
pub const LANES: usize = 2;
pub const ROWS: usize = 4;
/// Two receivers' transactions, and one whose receiver is gone while the database still works on it.
pub const ORPHAN: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct World {
    pub faults: Faults,
    pub sends_left: [u8; REQUESTS],
    /// Answered 2xx, once or more often.
    pub accepted: [bool; REQUESTS],
    /// Answered "conflict".
    pub told_conflict: [bool; REQUESTS],
    /// The payload stands among the conflicts.
    pub kept_conflict: [bool; REQUESTS],
    pub receivers: [Receiver; 2],
    pub orphan: Tx,
    pub rows: [Row; ROWS],
    pub lanes: [Lane; LANES],
    pub workers: [Worker; 2],
    pub broken: Broken,
}

/// What is not there costs one byte: hashing is most of the work of an exploration.
impl Hash for World {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        fn hash_if<H: Hasher>(is_there: bool, part: &impl Hash, hasher: &mut H) {
            hasher.write_u8(u8::from(is_there));
            if is_there {
                part.hash(hasher);
            }
        }
        (self.faults, self.broken, self.lanes, self.sends_left).hash(hasher);
        (self.accepted, self.told_conflict, self.kept_conflict).hash(hasher);
        self.receivers.iter().for_each(|receiver| hash_if(receiver.at != Stage::Idle, receiver, hasher));
        hash_if(self.orphan.at != TxStage::None, &self.orphan, hasher);
        self.rows.iter().for_each(|row| hash_if(row.state != State::Absent, row, hasher));
        self.workers.iter().for_each(|worker| hash_if(worker.at != Phase::Idle, worker, hasher));
    }
}

/// What a step saw that no later look at the world would show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Broken {
    pub effect_before_receipt: bool,
    pub other_payload_ran: bool,
    pub unexplained_effect: bool,
    pub effect_out_of_order: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Receiver {
    pub at: Stage,
    pub request: u8,
    pub tx: Tx,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub enum Stage {
    #[default]
    Idle,
    /// Its transaction makes the receipt.
    Recording,
    /// Only with a flaw: the delivery is committed, the receipt not yet.
    ReceiptLeft,
    /// The event has a receipt: the arrival is yet to be noted.
    SeenBefore,
    /// It will answer 2xx.
    Accepting,
    /// It will answer "conflict".
    TellingConflict,
}

/// The one statement of `record_new.sql`, cut where it waits for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Tx {
    pub at: TxStage,
    pub request: u8,
    /// It inserted the lane, which was not there.
    pub opened: bool,
    /// It inserted the receipt, which was not there.
    pub stored: bool,
    pub seq: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub enum TxStage {
    #[default]
    None,
    Begun,
    /// Its snapshot showed no receipt.
    Looked,
    /// It holds the lane's row lock.
    Locked,
    /// Receipt and delivery are inserted, and not committed.
    Inserted,
}

/// A receipt and its delivery: one route, so that each receipt has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Row {
    pub state: State,
    pub event: u8,
    pub lane: u8,
    pub seq: u8,
    pub payload: u8,
    pub first_payload: u8,
    pub has_receipt: bool,
    pub lease_over: bool,
    pub crashes: u8,
    /// Effects that the destination has seen.
    pub effects: u8,
    /// Faults that each explain one more effect across a network.
    pub excuses: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub enum State {
    /// There is no such row.
    #[default]
    Absent,
    /// `waiting` or `queued`: no step tells them apart.
    Waiting,
    Retrying,
    Running,
    Succeeded,
    Dead,
}

impl State {
    pub fn is_unfinished(self) -> bool {
        matches!(self, Self::Waiting | Self::Retrying | Self::Running)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Lane {
    pub is_open: bool,
    pub job: Job,
}

/// The job that a lane's row names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Job {
    /// There is none, or apalis has it as done.
    #[default]
    Gone,
    Ready,
    /// Due later.
    Parked,
    Taken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Worker {
    pub at: Phase,
    pub lane: u8,
    pub row: u8,
    /// Its job is still the one that the lane's row names.
    pub owns: bool,
    /// Its token is the newest of the row: nobody has claimed the row since.
    pub is_newest: bool,
    pub is_paused: bool,
    /// Its lease ran out while it stood still.
    pub is_late: bool,
    /// A settlement gave an error, and may have been made.
    pub has_failed: bool,
    /// How the attempt ended.
    pub end: State,
    /// It may claim another delivery.
    pub may_run: bool,
    /// The settlement is part of the transaction that waits for the lane.
    pub settles: bool,
    /// Only with a flaw: the lane was empty before the wait.
    pub saw_empty: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub enum Phase {
    #[default]
    Idle,
    /// It will ask whose turn it is.
    Asking,
    /// It holds a delivery, and the effect is to come.
    Claimed,
    /// Only with a flaw: settled, and the effect is to come.
    Marked,
    /// The attempt is over, and to be settled.
    Ended,
    /// In `retire_lane`, waiting for the lane's row.
    Retiring,
    /// A fresh job for now is to take its job's place.
    HandingOver,
    /// A fresh job for later is to take its job's place.
    Parking,
    /// The head's lease is over: it is to be taken back.
    TakingBack,
}

impl World {
    /// A recorder holds the lane's row: who would change it waits.
    pub fn is_locked(&self, lane: u8, requests: &[crate::setting::Request]) -> bool {
        self.txs().any(|tx| {
            matches!(tx.at, TxStage::Locked | TxStage::Inserted) && requests[usize::from(tx.request)].lane == lane
        })
    }

    pub fn txs(&self) -> impl Iterator<Item = &Tx> {
        self.receivers.iter().map(|receiver| &receiver.tx).chain([&self.orphan])
    }

    pub fn tx(&mut self, slot: usize) -> &mut Tx {
        if slot == ORPHAN { &mut self.orphan } else { &mut self.receivers[slot].tx }
    }

    /// The receipt of an event, as far as it is committed.
    pub fn row_of(&self, event: u8) -> Option<usize> {
        self.rows.iter().position(|row| row.state != State::Absent && row.event == event)
    }

    pub fn next_seq(&self, lane: u8, requests: &[crate::setting::Request]) -> u8 {
        let written = self.rows.iter().filter(|row| row.state != State::Absent && row.lane == lane).map(|row| row.seq);
        let under_way = self.txs().filter(|tx| tx.at != TxStage::None);
        let under_way = under_way.filter(|tx| requests[usize::from(tx.request)].lane == lane).map(|tx| tx.seq);
        written.chain(under_way).max().unwrap_or(0) + 1
    }

    /// The first delivery of a lane that is not finished, among those that `is_wanted`.
    pub fn head(&self, lane: u8, is_wanted: impl Fn(usize, &Row) -> bool) -> Option<usize> {
        let rows = self.rows.iter().enumerate();
        rows.filter(|(at, row)| row.lane == lane && row.state.is_unfinished() && is_wanted(*at, row))
            .min_by_key(|(_, row)| row.seq)
            .map(|(at, _)| at)
    }

    /// Gives the lane's job another id: whoever came for the old one owns the lane no more.
    pub fn replace_job(&mut self, lane: u8, job: Job) {
        self.lanes[usize::from(lane)].job = job;
        for worker in self.workers.iter_mut().filter(|worker| worker.lane == lane) {
            worker.owns = false;
        }
    }

    /// Somebody works for the lane's job who does not stand still.
    pub fn is_worked_on(&self, lane: u8) -> bool {
        self.workers.iter().any(|w| w.at != Phase::Idle && w.owns && w.lane == lane && !w.is_paused)
    }

    /// Whether nothing is left to do and nobody does anything.
    pub fn is_at_rest(&self) -> bool {
        self.rows.iter().all(|row| !row.state.is_unfinished())
            && self.lanes.iter().all(|lane| !lane.is_open)
            && self.workers.iter().all(|worker| worker.at == Phase::Idle)
            && self.receivers.iter().all(|receiver| receiver.at == Stage::Idle)
            && self.orphan.at == TxStage::None
    }

    pub fn sorted(mut self) -> Self {
        self.workers.sort_unstable();
        self.receivers.sort_unstable();
        self
    }
}
