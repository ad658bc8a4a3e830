//! The workers: `run::drain` and `run::turn` with the functions of `migrations/0003_turns.sql`, and the effects.

use crate::{
    setting::{Flaw, Setting, Sink},
    world::{Job, Phase, Row, State, Worker, World},
};

impl Setting {
    /// An idle worker fetches the lane's job.
    pub fn fetch(&self, world: &mut World, lane: u8) -> Option<()> {
        let worker = world.workers.iter_mut().find(|worker| worker.at == Phase::Idle)?;
        let its = &mut world.lanes[usize::from(lane)];
        if !its.is_open || its.job != Job::Ready {
            return None;
        }
        its.job = Job::Taken;
        *worker = asking(lane, true);
        Some(())
    }

    /// The next step of a worker, if it does not have to wait for a lock.
    pub fn work(&self, world: &mut World, at: usize) -> Option<()> {
        let worker = world.workers[at];
        if worker.is_paused {
            return None;
        }
        match worker.at {
            Phase::Idle => return None,
            Phase::Asking => self.take_turn(world, at, true),
            Phase::Claimed if self.poison == Some(world.rows[usize::from(worker.row)].event) => {
                world.workers[at] = Worker::default();
            }
            Phase::Claimed if self.has(Flaw::MarkBeforeEffect) => self.mark_first(world, at),
            Phase::Claimed if self.is_transactional() => self.run_in_transaction(world, at),
            Phase::Claimed => {
                self.count_effect(world, worker.row);
                world.workers[at] = Worker { at: Phase::Ended, end: State::Succeeded, ..worker };
            }
            Phase::Marked => {
                self.count_effect(world, worker.row);
                world.workers[at] = asking(worker.lane, worker.owns);
            }
            Phase::Ended => self.settle(world, at),
            Phase::Retiring => return self.retire(world, at),
            Phase::HandingOver => return self.give_away(world, at, Job::Ready),
            Phase::Parking => return self.give_away(world, at, Job::Parked),
            Phase::TakingBack => return self.take_back(world, at),
        }
        Some(())
    }

    pub fn is_transactional(&self) -> bool {
        self.sink == Sink::Transaction && !self.has(Flaw::EffectBesideItsTransaction)
    }

    /// The worker may move the delivery that it claimed: it runs, under the worker's token.
    pub fn holds(&self, world: &World, worker: &Worker) -> bool {
        let is_running = world.rows[usize::from(worker.row)].state == State::Running;
        self.has(Flaw::NoToken) || (is_running && worker.is_newest)
    }

    /// `next_turn`.
    fn take_turn(&self, world: &mut World, at: usize, may_run: bool) {
        let Worker { lane, owns, .. } = world.workers[at];
        let is_fenced = self.asks_for_owner && !owns;
        let is_wanted = |_: usize, row: &Row| !(self.has(Flaw::SkipLocked) && row.state == State::Running);
        if is_fenced {
            return end_job(world, at);
        }
        if !may_run {
            return self.begin_to_retire(world, at, Worker { lane, owns, ..Worker::default() });
        }
        let Some(head) = world.head(lane, is_wanted) else {
            return self.begin_to_retire(world, at, Worker { lane, owns, may_run, ..Worker::default() });
        };
        let row = u8::try_from(head).expect("there are few rows");
        let next = Worker { lane, owns, row, is_newest: true, ..Worker::default() };
        world.workers[at] = match world.rows[head] {
            Row { state: State::Waiting, .. } => {
                for other in world.workers.iter_mut().filter(|other| other.row == row) {
                    other.is_newest = false;
                }
                world.rows[head].state = State::Running;
                world.rows[head].lease_over = false;
                Worker { at: Phase::Claimed, ..next }
            }
            Row { state: State::Running, lease_over: true, .. } => Worker { at: Phase::TakingBack, ..next },
            _ => Worker { at: Phase::Parking, lane, owns, ..Worker::default() },
        };
    }

    /// `settle_and_next_turn`. Where nothing is left it goes on in [`retire`](Self::retire), still in one transaction.
    fn settle(&self, world: &mut World, at: usize) {
        let worker = world.workers[at];
        let Worker { lane, owns, row, end, has_failed, .. } = worker;
        if !self.holds(world, &worker) {
            if has_failed {
                // It had been settled, and by us: the job goes on with another.
                world.workers[at] = Worker { at: Phase::HandingOver, lane, owns, ..Worker::default() };
            } else {
                end_job(world, at);
            }
            return;
        }
        let may_run = !has_failed && !self.hands_over;
        let is_last = world.head(lane, |other, _| other != usize::from(row)).is_none() && !end.is_unfinished();
        if (is_last || !may_run) && owns {
            return self.begin_to_retire(world, at, Worker { settles: true, may_run, ..worker });
        }
        world.rows[usize::from(row)].state = end;
        self.take_turn(world, at, may_run);
    }

    fn begin_to_retire(&self, world: &mut World, at: usize, worker: Worker) {
        let is_empty = world.head(worker.lane, |row, _| !(worker.settles && row == usize::from(worker.row))).is_none();
        let saw_empty = self.has(Flaw::RetireInOneStatement) && is_empty;
        world.workers[at] = Worker { at: Phase::Retiring, saw_empty, ..worker };
    }

    /// `retire_lane`: the lane's row is locked, then looked at again.
    fn retire(&self, world: &mut World, at: usize) -> Option<()> {
        let Worker { lane, owns, row, end, settles, saw_empty, may_run, .. } = world.workers[at];
        if world.is_locked(lane, &self.requests) {
            return None;
        }
        if settles {
            world.rows[usize::from(row)].state = end;
        }
        if owns && (saw_empty || world.head(lane, |_, _| true).is_none()) {
            world.lanes[usize::from(lane)].is_open = false;
            world.replace_job(lane, Job::Gone);
            world.workers[at] = Worker::default();
        } else if may_run {
            world.workers[at] = asking(lane, owns);
        } else {
            world.workers[at] = Worker { at: Phase::HandingOver, lane, owns, ..Worker::default() };
        }
        Some(())
    }

    /// `replace_lane_job`.
    fn give_away(&self, world: &mut World, at: usize, job: Job) -> Option<()> {
        let Worker { lane, owns, .. } = world.workers[at];
        if owns {
            if world.is_locked(lane, &self.requests) {
                return None;
            }
            world.replace_job(lane, job);
        }
        world.workers[at] = Worker::default();
        Some(())
    }

    /// `deliveries::take_back`.
    fn take_back(&self, world: &mut World, at: usize) -> Option<()> {
        let Worker { lane, row, owns, is_newest, .. } = world.workers[at];
        if world.workers.iter().any(|other| other.settles && other.row == row) {
            return None;
        }
        let its = &mut world.rows[usize::from(row)];
        if its.state == State::Running && its.lease_over && is_newest {
            its.crashes += u8::from(!self.has(Flaw::CrashNeverCounted));
            its.state = if its.crashes >= self.crashes_max { State::Dead } else { State::Waiting };
            its.lease_over = false;
            // Who held it lives, and has called the destination or will.
            let holders = world.workers.iter().filter(|other| other.is_newest && other.row == row);
            its.excuses += u8::try_from(holders.filter(|other| will_have_called(other)).count()).unwrap_or(0);
        }
        world.workers[at] = asking(lane, owns);
        Some(())
    }

    fn mark_first(&self, world: &mut World, at: usize) {
        let worker = world.workers[at];
        if self.holds(world, &worker) {
            world.rows[usize::from(worker.row)].state = State::Succeeded;
            world.workers[at].at = Phase::Marked;
        } else {
            end_job(world, at);
        }
    }

    /// The row is locked, the token checked, and effect and mark are committed.
    fn run_in_transaction(&self, world: &mut World, at: usize) {
        let worker = world.workers[at];
        if self.holds(world, &worker) {
            self.count_effect(world, worker.row);
            world.rows[usize::from(worker.row)].state = State::Succeeded;
            world.workers[at] = asking(worker.lane, worker.owns);
        } else {
            end_job(world, at);
        }
    }

    pub fn count_effect(&self, world: &mut World, row: u8) {
        let its = world.rows[usize::from(row)];
        let has_later_run = |other: &Row| other.lane == its.lane && other.seq > its.seq && other.effects > 0;
        world.broken.effect_before_receipt |= !its.has_receipt;
        world.broken.other_payload_ran |= its.payload != its.first_payload;
        world.broken.unexplained_effect |= match self.sink {
            Sink::Network => its.effects > its.excuses,
            Sink::Transaction => its.effects > 0,
        };
        // Across a network a worker that stood still may call late; within a transaction nothing may.
        world.broken.effect_out_of_order |= self.sink == Sink::Transaction && world.rows.iter().any(has_later_run);
        world.rows[usize::from(row)].effects = its.effects.saturating_add(1);
    }
}

fn asking(lane: u8, owns: bool) -> Worker {
    Worker { at: Phase::Asking, lane, owns, ..Worker::default() }
}

/// The call is made and is not excused yet, or nothing will keep the worker from making it.
fn will_have_called(worker: &Worker) -> bool {
    worker.at == Phase::Claimed || (worker.at == Phase::Ended && worker.end == State::Succeeded)
}

/// The job's function returns: apalis marks the job as done, if it is still there and this worker's.
pub fn end_job(world: &mut World, at: usize) {
    let Worker { lane, owns, .. } = world.workers[at];
    world.workers[at] = Worker::default();
    let is_shared = world.workers.iter().any(|other| other.at != Phase::Idle && other.owns && other.lane == lane);
    let its = &mut world.lanes[usize::from(lane)];
    if owns && !is_shared && its.job == Job::Taken {
        its.job = Job::Gone;
    }
}
