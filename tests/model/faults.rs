//! What goes wrong, what time brings, and who repairs it: crashes, pauses, lost replies; leases that run out, parked jobs
//! that become due; apalis' own re-enqueueing and `run::rescue`.

use crate::{
    running::end_job,
    setting::{Flaw, Setting, Sink},
    world::{Job, Phase, State, Worker, World},
};

impl Setting {
    pub fn crash_worker(&self, world: &mut World, at: usize) -> Option<()> {
        let worker = world.workers[at];
        if worker.at == Phase::Idle {
            return None;
        }
        world.faults.crashes = world.faults.crashes.checked_sub(1)?;
        let row = &mut world.rows[usize::from(worker.row)];
        let is_between = matches!(worker.at, Phase::Ended | Phase::Retiring) && worker.end == State::Succeeded;
        if is_between && worker.is_newest && row.state == State::Running {
            row.excuses += 1;
        }
        world.workers[at] = Worker::default();
        Some(())
    }

    /// What a worker has sent to the database goes on without it: it stands still between two statements only.
    pub fn pause(&self, world: &mut World, at: usize) -> Option<()> {
        let worker = &mut world.workers[at];
        if worker.is_paused || matches!(worker.at, Phase::Idle | Phase::Retiring) {
            return None;
        }
        world.faults.pauses = world.faults.pauses.checked_sub(1)?;
        worker.is_paused = true;
        Some(())
    }

    pub fn resume(&self, world: &mut World, at: usize) -> Option<()> {
        let was_paused = std::mem::take(&mut world.workers[at].is_paused);
        was_paused.then_some(())
    }

    /// The database has done it, and the worker does not learn that.
    pub fn lose_reply(&self, world: &mut World, at: usize) -> Option<()> {
        let before = world.workers[at];
        let commits = match before.at {
            Phase::Claimed => self.is_transactional(),
            Phase::Asking | Phase::Ended => true,
            Phase::Retiring => before.settles,
            _ => false,
        };
        if !commits || before.is_paused || before.has_failed {
            return None;
        }
        world.faults.losses = world.faults.losses.checked_sub(1)?;
        self.work(world, at)?;
        if world.workers[at].at == Phase::Retiring {
            return None; // Not committed yet.
        }
        let owns = before.owns && (world.workers[at].at == Phase::Idle || world.workers[at].owns);
        let owns = owns && world.lanes[usize::from(before.lane)].is_open;
        if before.at == Phase::Asking {
            world.workers[at] = Worker { owns, ..before };
            end_job(world, at);
        } else {
            world.workers[at] = unsure(Worker { owns, ..before });
        }
        Some(())
    }

    /// The database has not done it, and the worker does not learn that.
    pub fn lose_request(&self, world: &mut World, at: usize) -> Option<()> {
        let before = world.workers[at];
        let commits = match before.at {
            Phase::Claimed => self.is_transactional(),
            Phase::Ended => true,
            _ => false,
        };
        if !commits || before.is_paused || before.has_failed {
            return None;
        }
        world.faults.losses = world.faults.losses.checked_sub(1)?;
        world.workers[at] = unsure(before);
        Some(())
    }

    /// A destination has taken it, and its answer is lost.
    pub fn lose_answer(&self, world: &mut World, at: usize) -> Option<()> {
        let worker = world.workers[at];
        if self.sink != Sink::Network || !self.can_run(world, &worker) {
            return None;
        }
        world.faults.losses = world.faults.losses.checked_sub(1)?;
        self.count_effect(world, worker.row);
        world.rows[usize::from(worker.row)].excuses += 1;
        world.workers[at] = Worker { at: Phase::Ended, end: State::Retrying, ..worker };
        Some(())
    }

    /// A destination refuses for good.
    pub fn refuse(&self, world: &mut World, at: usize) -> Option<()> {
        let worker = world.workers[at];
        if !self.can_run(world, &worker) {
            return None;
        }
        world.faults.refusals = world.faults.refusals.checked_sub(1)?;
        world.workers[at] = Worker { at: Phase::Ended, end: State::Dead, ..worker };
        Some(())
    }

    fn can_run(&self, world: &World, worker: &Worker) -> bool {
        let is_poison = self.poison == Some(world.rows[usize::from(worker.row)].event);
        worker.at == Phase::Claimed && !worker.is_paused && !is_poison
    }

    /// A lease runs out: nobody who holds it is there to renew it.
    pub fn end_lease(&self, world: &mut World, at: usize) -> Option<()> {
        let row = &mut world.rows[at];
        if row.state != State::Running || row.lease_over {
            return None;
        }
        let is_holder = |worker: &Worker| {
            let holds = matches!(worker.at, Phase::Claimed | Phase::Ended | Phase::Retiring);
            holds && usize::from(worker.row) == at && worker.is_newest
        };
        if world.workers.iter().any(|worker| is_holder(worker) && !worker.is_paused) {
            return None;
        }
        row.lease_over = true;
        world.workers.iter_mut().filter(|worker| is_holder(worker)).for_each(|worker| worker.is_late = true);
        Some(())
    }

    /// A worker that goes on finds its lease over and renews it, if nobody was faster.
    pub fn renew_lease(&self, world: &mut World, at: usize) -> Option<()> {
        let worker = world.workers[at];
        let row = &mut world.rows[usize::from(worker.row)];
        let holds = row.state == State::Running && worker.is_newest && row.lease_over;
        if worker.at != Phase::Claimed || worker.is_paused || !holds {
            return None;
        }
        row.lease_over = false;
        world.workers[at].is_late = false;
        Some(())
    }

    /// A parked job becomes due: when its head is, or when the lease that it waits for is over, or ended early.
    pub fn come_due(&self, world: &mut World, lane: u8) -> Option<()> {
        let its = &mut world.lanes[usize::from(lane)];
        if !its.is_open || its.job != Job::Parked {
            return None;
        }
        its.job = Job::Ready;
        if let Some(head) = world.head(lane, |_, _| true) {
            let row = &mut world.rows[head];
            match row.state {
                State::Running if !row.lease_over => return None,
                State::Retrying => row.state = State::Waiting,
                _ => {}
            }
        }
        Some(())
    }

    /// apalis gives a job whose worker has no heartbeat to another: it is the same job.
    pub fn enqueue_again(&self, world: &mut World, lane: u8) -> Option<()> {
        let its = world.lanes[usize::from(lane)];
        if !its.is_open || its.job != Job::Taken || world.is_worked_on(lane) || self.has(Flaw::NobodyRescues) {
            return None;
        }
        world.lanes[usize::from(lane)].job = Job::Ready;
        Some(())
    }

    /// The reconciler gives a lane whose job is over, or taken for long with nothing under a live lease, a fresh job.
    pub fn rescue(&self, world: &mut World, lane: u8) -> Option<()> {
        let its = world.lanes[usize::from(lane)];
        let runs = world.rows.iter().any(|row| row.lane == lane && row.state == State::Running && !row.lease_over);
        let is_stuck = its.job == Job::Taken && !world.is_worked_on(lane) && !runs;
        let is_lost = its.is_open && (its.job == Job::Gone || is_stuck);
        if !is_lost || world.is_locked(lane, &self.requests) || self.has(Flaw::NobodyRescues) {
            return None;
        }
        world.replace_job(lane, Job::Ready);
        Some(())
    }
}

/// After a lost reply: it will settle again, with what it knows.
fn unsure(worker: Worker) -> Worker {
    // Within a transaction it does not even know of its effect: it is tried again, where the token lets it.
    let end = if worker.at == Phase::Claimed { State::Retrying } else { worker.end };
    Worker { at: Phase::Ended, end, has_failed: true, settles: false, may_run: false, saw_empty: false, ..worker }
}
