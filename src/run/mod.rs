//! Run: works off lanes. `retry` decides, purely, what follows an attempt.

pub mod retry;
