//! The steps by which one moment follows another, for `stateright` and for the walk.

use stateright::{Model, Property};

use crate::{
    promises,
    setting::Setting,
    world::{Job, ORPHAN, Phase, Stage, State, TxStage, World},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Send(u8),
    Record(usize),
    Receive(usize),
    RollBack,
    Fetch(u8),
    Work(usize),
    EndLease(usize),
    RenewLease(usize),
    ComeDue(u8),
    EnqueueAgain(u8),
    Rescue(u8),
    Resume(usize),
    CrashReceiver(usize),
    LoseCommit { receiver: usize, gives_up: bool },
    CrashWorker(usize),
    Pause(usize),
    LoseReply(usize),
    LoseRequest(usize),
    LoseAnswer(usize),
    Refuse(usize),
}

impl Step {
    /// Neither a fault nor a sender's: what happens when everybody else leaves the appliance alone.
    pub fn is_of_itself(self) -> bool {
        !self.is_fault() && !matches!(self, Self::Send(_))
    }

    fn is_fault(self) -> bool {
        matches!(
            self,
            Self::CrashReceiver(_)
                | Self::LoseCommit { .. }
                | Self::CrashWorker(_)
                | Self::Pause(_)
                | Self::LoseReply(_)
                | Self::LoseRequest(_)
                | Self::LoseAnswer(_)
                | Self::Refuse(_)
        )
    }
}

impl Model for Setting {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let mut world = World { faults: self.faults, ..World::default() };
        for (left, request) in world.sends_left.iter_mut().zip(&self.requests) {
            *left = request.sends;
        }
        vec![world]
    }

    /// All that might happen; `next_state` knows what can.
    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        if world.receivers.iter().any(|receiver| receiver.at == Stage::Idle) {
            let left = (0..).zip(&world.sends_left).filter(|(_, left)| **left > 0);
            steps.extend(left.map(|(request, _)| Step::Send(request)));
        }
        if world.orphan.at != TxStage::None {
            steps.extend([Step::Record(ORPHAN), Step::RollBack]);
        }
        let running = (0..).zip(&world.rows).filter(|(_, row)| row.state == State::Running && !row.lease_over);
        steps.extend(running.map(|(at, _)| Step::EndLease(at)));
        for (at, lane) in (0..).zip(&world.lanes).filter(|(_, lane)| lane.is_open) {
            match lane.job {
                Job::Gone => steps.push(Step::Rescue(at)),
                Job::Ready => steps.push(Step::Fetch(at)),
                Job::Parked => steps.push(Step::ComeDue(at)),
                Job::Taken => steps.extend([Step::EnqueueAgain(at), Step::Rescue(at)]),
            }
        }
        (0..2).for_each(|at| steps_of_receiver(world, at, steps));
        (0..2).for_each(|at| steps_of_worker(world, at, steps));
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = *world;
        match step {
            Step::Send(request) => self.send(&mut next, request),
            Step::Record(slot) => self.record(&mut next, slot),
            Step::Receive(at) => self.receive(&mut next, at),
            Step::RollBack => self.roll_back(&mut next),
            Step::Fetch(lane) => self.fetch(&mut next, lane),
            Step::Work(at) => self.work(&mut next, at),
            Step::EndLease(at) => self.end_lease(&mut next, at),
            Step::RenewLease(at) => self.renew_lease(&mut next, at),
            Step::ComeDue(lane) => self.come_due(&mut next, lane),
            Step::EnqueueAgain(lane) => self.enqueue_again(&mut next, lane),
            Step::Rescue(lane) => self.rescue(&mut next, lane),
            Step::Resume(at) => self.resume(&mut next, at),
            Step::CrashReceiver(at) => self.crash_receiver(&mut next, at),
            Step::LoseCommit { receiver, gives_up } => self.lose_commit(&mut next, receiver, gives_up),
            Step::CrashWorker(at) => self.crash_worker(&mut next, at),
            Step::Pause(at) => self.pause(&mut next, at),
            Step::LoseReply(at) => self.lose_reply(&mut next, at),
            Step::LoseRequest(at) => self.lose_request(&mut next, at),
            Step::LoseAnswer(at) => self.lose_answer(&mut next, at),
            Step::Refuse(at) => self.refuse(&mut next, at),
        }?;
        Some(next.sorted())
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises::always()
    }
}

fn steps_of_receiver(world: &World, at: usize, steps: &mut Vec<Step>) {
    let receiver = world.receivers[at];
    match (receiver.at, receiver.tx.at) {
        (Stage::Idle, _) => return,
        (Stage::Recording, TxStage::Inserted) if world.faults.losses > 0 => {
            steps.extend([false, true].map(|gives_up| Step::LoseCommit { receiver: at, gives_up }));
            steps.push(Step::Record(at));
        }
        (Stage::Recording, _) => steps.push(Step::Record(at)),
        _ => steps.push(Step::Receive(at)),
    }
    if world.faults.crashes > 0 {
        steps.push(Step::CrashReceiver(at));
    }
}

fn steps_of_worker(world: &World, at: usize, steps: &mut Vec<Step>) {
    let (worker, left) = (world.workers[at], world.faults);
    if worker.at == Phase::Idle {
        return;
    }
    steps.push(if worker.is_paused { Step::Resume(at) } else { Step::Work(at) });
    if left.crashes > 0 {
        steps.push(Step::CrashWorker(at));
    }
    if worker.is_paused {
        return;
    }
    if left.pauses > 0 {
        steps.push(Step::Pause(at));
    }
    if left.losses > 0 {
        steps.extend([Step::LoseReply(at), Step::LoseRequest(at)]);
    }
    if worker.at == Phase::Claimed {
        steps.push(Step::RenewLease(at));
        if left.losses > 0 {
            steps.push(Step::LoseAnswer(at));
        }
        if left.refusals > 0 {
            steps.push(Step::Refuse(at));
        }
    }
}
