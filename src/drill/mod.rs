//! The drill: the appliance under faults, on the user's own machine, with an independent check of what it promises.

pub mod checker;
#[cfg(feature = "sabotage")]
pub mod sabotage;
