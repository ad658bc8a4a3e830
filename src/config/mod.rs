//! Configuration: the only reader of files and environment. `compiled` holds what the rest of the program sees.

mod compiled;

pub use compiled::*;
