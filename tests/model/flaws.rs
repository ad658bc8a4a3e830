//! Each safety that is switched off breaks the promise that it is for, where all is well with it on: so the model can
//! fail, and the safety is needed.

use stateright::{Checker as _, HasDiscoveries, Model as _};

use crate::{
    promises::{P1, P2, P3, P4, P5, P6, P7},
    setting::{Faults, Flaw, Setting, Sink},
    walk::walk,
};

const NONE: Faults = Faults { crashes: 0, pauses: 0, losses: 0, refusals: 0 };
const A_CRASH: Faults = Faults { crashes: 1, ..NONE };
const A_PAUSE: Faults = Faults { pauses: 1, ..NONE };
const A_LOSS: Faults = Faults { losses: 1, ..NONE };

/// Requests as (event, payload, lane, sends).
const ONE_EVENT: &[(u8, u8, u8, u8)] = &[(0, 0, 0, 1)];
const ONE_EVENT_TWICE: &[(u8, u8, u8, u8)] = &[(0, 0, 0, 2)];
const TWO_EVENTS: &[(u8, u8, u8, u8)] = &[(0, 0, 0, 1), (1, 0, 0, 1)];
const CONFLICT: &[(u8, u8, u8, u8)] = &[(0, 0, 0, 1), (0, 1, 0, 1)];

fn breaks(promise: &'static str, flaw: Flaw, sound: Setting) {
    sound.clone().checker().threads(2).spawn_bfs().join().assert_properties();
    let found = HasDiscoveries::AnyOf([promise].into());
    let flawed = sound.with(flaw).checker().threads(2).finish_when(found).spawn_bfs().join();
    assert!(flawed.discovery(promise).is_some(), "nobody notices that {flaw:?} breaks: {promise}");
}

fn never_ends(flaw: Flaw, sound: Setting) {
    assert!(walk(&sound).way_to_no_end.is_none());
    assert!(walk(&sound.with(flaw)).way_to_no_end.is_some(), "nobody notices that {flaw:?} breaks: {P7}");
}

fn network(requests: &[(u8, u8, u8, u8)], faults: Faults) -> Setting {
    Setting::new(Sink::Network, requests, faults)
}

fn transaction(requests: &[(u8, u8, u8, u8)], faults: Faults) -> Setting {
    Setting::new(Sink::Transaction, requests, faults)
}

#[test]
fn an_answer_before_the_commit_breaks_p1() {
    breaks(P1, Flaw::AnswerBeforeCommit, network(ONE_EVENT, A_CRASH));
}

#[test]
fn a_commit_error_taken_for_success_breaks_p1() {
    breaks(P1, Flaw::CommitErrorTakenForSuccess, network(ONE_EVENT, A_LOSS));
}

#[test]
fn a_delivery_committed_before_its_receipt_breaks_p2() {
    breaks(P2, Flaw::DeliveryBeforeReceipt, network(ONE_EVENT, NONE));
    breaks(P2, Flaw::DeliveryBeforeReceipt, transaction(ONE_EVENT, NONE));
}

#[test]
fn check_then_insert_without_a_constraint_breaks_p3() {
    breaks(P3, Flaw::CheckThenInsert, network(ONE_EVENT_TWICE, NONE));
}

#[test]
fn a_conflict_that_overwrites_the_first_payload_breaks_p4() {
    breaks(P4, Flaw::ConflictOverwrites, network(CONFLICT, NONE));
}

#[test]
fn a_mark_before_the_effect_breaks_p5() {
    breaks(P5, Flaw::MarkBeforeEffect, network(ONE_EVENT, A_CRASH));
    breaks(P5, Flaw::MarkBeforeEffect, transaction(ONE_EVENT, A_CRASH));
}

#[test]
fn an_effect_beside_the_transaction_that_marks_it_breaks_p5() {
    breaks(P5, Flaw::EffectBesideItsTransaction, transaction(ONE_EVENT, A_CRASH));
}

#[test]
fn no_fencing_token_breaks_p5_within_a_transaction() {
    breaks(P5, Flaw::NoToken, transaction(ONE_EVENT, A_PAUSE));
}

#[test]
fn no_fencing_token_breaks_p6_across_a_network() {
    breaks(P6, Flaw::NoToken, network(TWO_EVENTS, A_PAUSE));
}

#[test]
fn a_claim_that_skips_the_running_head_breaks_p6() {
    breaks(P6, Flaw::SkipLocked, network(TWO_EVENTS, A_PAUSE));
    breaks(P6, Flaw::SkipLocked, transaction(TWO_EVENTS, A_PAUSE));
}

#[test]
fn a_sequence_taken_before_the_lanes_lock_breaks_p6() {
    breaks(P6, Flaw::SequenceBeforeLock, network(TWO_EVENTS, NONE));
    breaks(P6, Flaw::SequenceBeforeLock, transaction(TWO_EVENTS, NONE));
}

#[test]
fn a_lane_retired_in_one_statement_breaks_p7() {
    never_ends(Flaw::RetireInOneStatement, network(TWO_EVENTS, NONE));
    never_ends(Flaw::RetireInOneStatement, transaction(TWO_EVENTS, NONE));
}

#[test]
fn a_crash_that_is_never_counted_breaks_p7() {
    let poisoned = Setting { poison: Some(0), ..network(ONE_EVENT, NONE) };
    never_ends(Flaw::CrashNeverCounted, poisoned);
}

#[test]
fn a_crash_that_nobody_looks_for_breaks_p7() {
    never_ends(Flaw::NobodyRescues, network(ONE_EVENT, A_CRASH));
}
