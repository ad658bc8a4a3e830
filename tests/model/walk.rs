//! P7, which `stateright` cannot check: its "eventually" forgets a path at the end of a cycle, and what never ends is a
//! cycle. So all moments are walked once more, and then backwards from those at rest, along the steps that are neither a
//! fault nor a sender's: a moment that is not met has no way to an end.

use std::{
    collections::{HashMap, HashSet, VecDeque, hash_map::Entry},
    hash::{Hash as _, Hasher},
    mem::{Discriminant, discriminant},
};

use stateright::Model;

use crate::{setting::Setting, step::Step, world::World};

/// What a walk came to.
#[derive(Debug)]
pub struct Walk {
    /// Moments that were met.
    pub moments: usize,
    /// The kinds of steps by which they were met first.
    pub taken: HashSet<Discriminant<Step>>,
    /// The shortest way to a moment without an end.
    pub way_to_no_end: Option<Vec<(Option<Step>, World)>>,
}

/// Where a moment was met first.
struct Met {
    world: World,
    from: usize,
    by: Option<Step>,
}

pub fn walk(setting: &Setting) -> Walk {
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut met: Vec<Met> = Vec::new();
    let mut ways_back: Vec<Vec<u32>> = Vec::new();
    for world in setting.init_states() {
        places.insert(fingerprint(&world), met.len());
        met.push(Met { world, from: met.len(), by: None });
        ways_back.push(Vec::new());
    }
    let mut steps = Vec::new();
    let mut at = 0;
    while at < met.len() {
        let world = met[at].world;
        setting.actions(&world, &mut steps);
        for step in steps.drain(..) {
            let Some(next) = setting.next_state(&world, step) else { continue };
            let place = match places.entry(fingerprint(&next)) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(free) => {
                    let place = *free.insert(met.len());
                    met.push(Met { world: next, from: at, by: Some(step) });
                    ways_back.push(Vec::new());
                    place
                }
            };
            if step.is_of_itself() {
                ways_back[place].push(u32::try_from(at).expect("the bounds keep the moments few"));
            }
        }
        at += 1;
    }
    let ends = can_end(&met, &ways_back);
    let lost = ends.iter().position(|can_end| !can_end);
    let taken = met.iter().filter_map(|met| met.by.as_ref()).map(discriminant).collect();
    Walk { moments: met.len(), taken, way_to_no_end: lost.map(|lost| way_to(&met, lost)) }
}

/// 64 bits stand for a moment, as in `stateright`, and of another hash than its: the two must count the same.
fn fingerprint(world: &World) -> u64 {
    let mut hasher = Fingerprint(0);
    world.hash(&mut hasher);
    hasher.finish()
}

/// Rotates, adds and multiplies: much cheaper than the hash of the standard library where nothing is optimised.
struct Fingerprint(u64);

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn can_end(met: &[Met], ways_back: &[Vec<u32>]) -> Vec<bool> {
    let mut can_end: Vec<bool> = met.iter().map(|met| met.world.is_at_rest()).collect();
    let mut open: VecDeque<usize> = (0..met.len()).filter(|at| can_end[*at]).collect();
    while let Some(at) = open.pop_front() {
        for before in ways_back[at].iter().map(|before| *before as usize) {
            if !can_end[before] {
                can_end[before] = true;
                open.push_back(before);
            }
        }
    }
    can_end
}

fn way_to(met: &[Met], mut at: usize) -> Vec<(Option<Step>, World)> {
    let mut way = vec![(met[at].by, met[at].world)];
    while met[at].from != at {
        at = met[at].from;
        way.push((met[at].by, met[at].world));
    }
    way.reverse();
    way
}
