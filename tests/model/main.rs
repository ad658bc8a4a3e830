//! A model of Oncehook, explored exhaustively within small bounds: a sender, two receivers, the database, two workers, a
//! destination; crashes, lost replies, workers that stand still. Every promise from P1 to P7 holds at every moment, and
//! each safety that is switched off breaks the promise that it is for. ARCHITECTURE.md says what it covers.

mod faults;
mod flaws;

mod holding;
mod promises;
mod recording;
mod running;
mod setting;
mod step;
mod walk;
mod world;
