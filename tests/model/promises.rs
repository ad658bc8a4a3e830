//! The promises, as what is true of every moment (P1 to P6) and of every way on (P7, in `walk`).

use stateright::Property;

use crate::{
    setting::{Setting, Sink},
    world::{Phase, State, Worker, World},
};

pub const P1: &str = "P1 a 2xx means it is stored";
pub const P2: &str = "P2 no effect before the receipt";
pub const P3: &str = "P3 one receipt per event";
pub const P4: &str = "P4 same id, other payload: kept and never run";
pub const P5: &str = "P5 effects once, or explained; what is marked has happened";
pub const P6: &str = "P6 one at a time in the lane's order";
pub const P7: &str = "P7 it always ends";

pub fn always() -> Vec<Property<Setting>> {
    vec![
        Property::always(P1, what_was_accepted_is_stored),
        Property::always(P2, |_, world: &World| !world.broken.effect_before_receipt),
        Property::always(P3, each_event_has_one_receipt),
        Property::always(P4, conflicts_are_kept_and_not_run),
        Property::always(P5, effects_are_marked_and_explained),
        Property::always(P6, lanes_run_one_at_a_time_in_order),
    ]
}

fn what_was_accepted_is_stored(setting: &Setting, world: &World) -> bool {
    setting.requests.iter().zip(&world.accepted).filter(|(_, is_accepted)| **is_accepted).all(|(request, _)| {
        world.row_of(request.event).is_some_and(|row| world.rows[row].first_payload == request.payload)
    })
}

fn each_event_has_one_receipt(_: &Setting, world: &World) -> bool {
    world
        .rows
        .iter()
        .enumerate()
        .all(|(at, row)| row.state == State::Absent || world.row_of(row.event).is_some_and(|first| first == at))
}

fn conflicts_are_kept_and_not_run(_: &Setting, world: &World) -> bool {
    let all_kept = world.told_conflict.iter().zip(&world.kept_conflict).all(|(told, kept)| *kept || !*told);
    all_kept && !world.broken.other_payload_ran && world.rows.iter().all(|row| row.payload == row.first_payload)
}

fn effects_are_marked_and_explained(setting: &Setting, world: &World) -> bool {
    let is_at_it =
        |at: usize| world.workers.iter().any(|w| w.at == Phase::Marked && w.is_newest && usize::from(w.row) == at);
    let bound = |row: &crate::world::Row| if setting.sink == Sink::Transaction { 1 } else { 1 + row.excuses };
    !world.broken.unexplained_effect
        && world.rows.iter().enumerate().all(|(at, row)| {
            row.effects <= bound(row) && (row.state != State::Succeeded || row.effects > 0 || is_at_it(at))
        })
}

/// Whoever runs is the head of its lane, and no two run under leases that hold.
fn lanes_run_one_at_a_time_in_order(_: &Setting, world: &World) -> bool {
    let is_head = |at: usize| world.head(world.rows[at].lane, |_, _| true) == Some(at);
    let runs = |worker: &Worker| {
        let is_under_way = matches!(worker.at, Phase::Claimed | Phase::Ended) && !worker.has_failed;
        is_under_way && !worker.is_late
    };
    let [first, second] = &world.workers;
    let is_double = runs(first) && runs(second) && first.lane == second.lane;
    let rows = world.rows.iter().enumerate();
    let all_heads = rows.filter(|(_, row)| row.state == State::Running).all(|(at, _)| is_head(at));
    all_heads && !is_double && !world.broken.effect_out_of_order
}
