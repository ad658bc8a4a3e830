//! The sender and the receivers: `intake`, and `record::commit` with the statement of `store/record_new.sql`.

use crate::{
    setting::{Flaw, Request, Setting},
    world::{Job, ORPHAN, ROWS, Receiver, Row, Stage, State, Tx, TxStage, World},
};

impl Setting {
    fn request(&self, request: u8) -> Request {
        self.requests[usize::from(request)]
    }

    pub fn send(&self, world: &mut World, request: u8) -> Option<()> {
        let receiver = world.receivers.iter_mut().find(|receiver| receiver.at == Stage::Idle)?;
        let left = &mut world.sends_left[usize::from(request)];
        *left = left.checked_sub(1)?;
        *receiver = recording(request);
        Some(())
    }

    /// The next step of a recording transaction, if it does not have to wait for another one.
    pub fn record(&self, world: &mut World, slot: usize) -> Option<()> {
        let mut tx = *world.tx(slot);
        let Request { event, lane, .. } = *self.requests.get(usize::from(tx.request))?;
        match tx.at {
            TxStage::None => return None,
            TxStage::Begun if world.row_of(event).is_some() => return self.is_seen_before(world, slot),
            TxStage::Begun => {
                tx.at = TxStage::Looked;
                if self.has(Flaw::SequenceBeforeLock) {
                    tx.seq = world.next_seq(lane, &self.requests);
                }
            }
            TxStage::Looked if world.is_locked(lane, &self.requests) => return None,
            TxStage::Looked => {
                tx.at = TxStage::Locked;
                tx.opened = !world.lanes[usize::from(lane)].is_open;
            }
            TxStage::Locked => {
                let is_unique = !self.has(Flaw::CheckThenInsert);
                let is_same = |other: &Tx| other.stored && self.request(other.request).event == event;
                if is_unique && world.txs().any(is_same) {
                    return None;
                }
                tx.at = TxStage::Inserted;
                tx.stored = !is_unique || world.row_of(event).is_none();
                if tx.stored && !self.has(Flaw::SequenceBeforeLock) {
                    tx.seq = world.next_seq(lane, &self.requests);
                }
                if self.has(Flaw::AnswerBeforeCommit) && slot != ORPHAN {
                    world.accepted[usize::from(tx.request)] = true;
                }
            }
            TxStage::Inserted => return self.commit(world, slot, tx),
        }
        *world.tx(slot) = tx;
        Some(())
    }

    fn commit(&self, world: &mut World, slot: usize, tx: Tx) -> Option<()> {
        let Request { event, payload, lane, .. } = self.request(tx.request);
        if tx.opened {
            world.lanes[usize::from(lane)].is_open = true;
            world.replace_job(lane, Job::Ready);
        }
        if !tx.stored {
            return self.is_seen_before(world, slot);
        }
        let free = (0..ROWS).find(|&row| world.rows[row].state == State::Absent)?;
        let has_receipt = !self.has(Flaw::DeliveryBeforeReceipt);
        world.rows[free] = Row {
            state: State::Waiting,
            event,
            lane,
            seq: tx.seq,
            payload,
            first_payload: payload,
            has_receipt,
            ..Row::default()
        };
        *world.tx(slot) = Tx::default();
        if let Some(receiver) = world.receivers.get_mut(slot) {
            receiver.at = if has_receipt { Stage::Accepting } else { Stage::ReceiptLeft };
        }
        Some(())
    }

    fn is_seen_before(&self, world: &mut World, slot: usize) -> Option<()> {
        *world.tx(slot) = Tx::default();
        if let Some(receiver) = world.receivers.get_mut(slot) {
            receiver.at = Stage::SeenBefore;
        }
        Some(())
    }

    /// What a receiver does once its transaction is over.
    pub fn receive(&self, world: &mut World, at: usize) -> Option<()> {
        let Receiver { at: stage, request, .. } = world.receivers[at];
        world.receivers[at].at = match stage {
            Stage::Idle | Stage::Recording => return None,
            Stage::ReceiptLeft => {
                let row = world.row_of(self.request(request).event)?;
                world.rows[row].has_receipt = true;
                Stage::Accepting
            }
            Stage::SeenBefore => self.note_arrival(world, request)?,
            Stage::Accepting | Stage::TellingConflict => {
                let told = if stage == Stage::Accepting { &mut world.accepted } else { &mut world.told_conflict };
                told[usize::from(request)] = true;
                world.receivers[at] = Receiver::default();
                Stage::Idle
            }
        };
        Some(())
    }

    /// Notes a later arrival in a transaction of its own: keeps a conflict, or revives a dead delivery at the end of its
    /// lane, under the lane's lock.
    fn note_arrival(&self, world: &mut World, request: u8) -> Option<Stage> {
        let Request { event, payload, .. } = self.request(request);
        let at = world.row_of(event)?;
        let row = world.rows[at];
        if row.payload != payload {
            world.kept_conflict[usize::from(request)] = !self.has(Flaw::ConflictOverwrites);
            if self.has(Flaw::ConflictOverwrites) {
                world.rows[at].payload = payload;
            }
            return Some(Stage::TellingConflict);
        }
        if row.state == State::Dead {
            if world.is_locked(row.lane, &self.requests) {
                return None;
            }
            let seq = world.next_seq(row.lane, &self.requests);
            world.rows[at] = Row { state: State::Waiting, seq, crashes: 0, ..row };
            if !world.lanes[usize::from(row.lane)].is_open {
                world.lanes[usize::from(row.lane)].is_open = true;
                world.replace_job(row.lane, Job::Ready);
            }
        }
        Some(Stage::Accepting)
    }

    /// A receiver dies. What the database already works on becomes an orphan, which ends either way.
    pub fn crash_receiver(&self, world: &mut World, at: usize) -> Option<()> {
        if world.receivers[at].at == Stage::Idle {
            return None;
        }
        world.faults.crashes = world.faults.crashes.checked_sub(1)?;
        let tx = world.receivers[at].tx;
        if matches!(tx.at, TxStage::Locked | TxStage::Inserted) && world.orphan.at == TxStage::None {
            world.orphan = tx;
        }
        world.receivers[at] = Receiver::default();
        Some(())
    }

    /// The reply to a commit is lost. The receiver tries again for a while, or gives up and answers 503.
    pub fn lose_commit(&self, world: &mut World, at: usize, gives_up: bool) -> Option<()> {
        let Receiver { tx, request, .. } = world.receivers[at];
        if tx.at != TxStage::Inserted || world.orphan.at != TxStage::None {
            return None;
        }
        world.faults.losses = world.faults.losses.checked_sub(1)?;
        world.orphan = tx;
        world.receivers[at] = match (self.has(Flaw::CommitErrorTakenForSuccess), gives_up) {
            (true, _) => Receiver { at: Stage::Accepting, request, ..Receiver::default() },
            (false, true) => Receiver::default(),
            (false, false) => recording(request),
        };
        Some(())
    }

    /// An orphan is rolled back.
    pub fn roll_back(&self, world: &mut World) -> Option<()> {
        let is_there = world.orphan.at != TxStage::None;
        world.orphan = Tx::default();
        is_there.then_some(())
    }
}

fn recording(request: u8) -> Receiver {
    Receiver { at: Stage::Recording, request, tx: Tx { at: TxStage::Begun, request, ..Tx::default() } }
}
