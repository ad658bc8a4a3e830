//! The configuration in force, as one value that can be swapped while the program runs.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use super::Config;

/// A handle on the configuration in force. Its clones see the same swaps.
#[derive(Debug, Clone)]
pub struct Live(Arc<ArcSwap<Config>>);

impl Live {
    /// Puts a configuration in force.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(config)))
    }

    /// The configuration now, for a short look: cheap, and not to be held across a wait.
    #[must_use]
    pub fn now(&self) -> Guard<Arc<Config>> {
        self.0.load()
    }

    /// The configuration now, to be kept: one request sees one configuration to its end.
    #[must_use]
    pub fn keep(&self) -> Arc<Config> {
        self.0.load_full()
    }

    /// Puts another one in force, whole, for whoever looks from now on.
    pub fn swap(&self, config: Config) {
        self.0.store(Arc::new(config));
    }
}
