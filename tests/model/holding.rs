//! The promises hold, in each setting.
use stateright::{Checker as _, Model as _};

use crate::{
    setting::{Faults, Setting, Sink},
    walk::walk,
};

fn holds(name: &str, setting: &Setting) {
    let t = std::time::Instant::now();
    let checker = setting.clone().checker().threads(2).spawn_bfs().join();
    let t1 = t.elapsed();
    let broken = checker.discoveries();
    if let Some((promise, path)) = broken.iter().next() {
        println!("{name} {promise}: broken by\n{path:?}");
    }
    let walk = walk(setting);
    println!("{name} {:?} {} moments {:?} {:?}", setting.sink, walk.states, t1, t.elapsed());
    if walk.way_to_no_end.is_some() { println!("P7: no end after {:#?}", walk.way_to_no_end.iter().flatten().map(|x| x.0).collect::<Vec<_>>());
      println!("{:?}", walk.way_to_no_end.iter().flatten().last().unwrap()); }
    assert_eq!(walk.states, checker.unique_state_count(), "two explorations of one model differ");
}

fn f(crashes: u8, pauses: u8, losses: u8, refusals: u8) -> Faults { Faults { crashes, pauses, losses, refusals } }
#[test]
fn x() {
    for sink in [Sink::Network, Sink::Transaction] {
        holds("two", &Setting::new(sink, &[(0, 0, 0, 1), (1, 0, 0, 1)], f(1, 1, 1, 0)));
        holds("two lanes", &Setting::new(sink, &[(0, 0, 0, 1), (1, 0, 1, 1)], f(1, 1, 0, 0)));
        holds("dup", &Setting::new(sink, &[(0, 0, 0, 2), (1, 0, 0, 1)], f(1, 0, 0, 0)));
        holds("dup loss", &Setting::new(sink, &[(0, 0, 0, 2)], f(1, 1, 1, 0)));
        holds("refused", &Setting::new(sink, &[(0, 0, 0, 2), (1, 0, 0, 1)], f(0, 0, 0, 1)));
        holds("refused 1", &Setting::new(sink, &[(0, 0, 0, 3)], f(1, 0, 0, 1)));
        holds("conflict", &Setting::new(sink, &[(0, 0, 0, 1), (0, 1, 1, 1)], f(1, 0, 1, 0)));
        holds("conflict one", &Setting::new(sink, &[(0, 0, 0, 1), (0, 1, 0, 1)], f(1, 1, 1, 0)));
        holds("poison", &Setting { poison: Some(0), crashes_max: 2, ..Setting::new(sink, &[(0, 0, 0, 1), (1, 0, 0, 1)], f(0, 1, 0, 0)) });
        holds("handover", &Setting { hands_over: true, ..Setting::new(sink, &[(0, 0, 0, 1), (1, 0, 0, 1)], f(1, 0, 1, 0)) });
        holds("unasked", &Setting { asks_for_owner: false, ..Setting::new(sink, &[(0, 0, 0, 1), (1, 0, 0, 1)], f(0, 1, 1, 0)) });
        holds("three", &Setting::new(sink, &[(0, 0, 0, 1), (1, 0, 0, 1), (2, 0, 0, 1)], f(0, 1, 0, 0)));
    }
}
