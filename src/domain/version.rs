//! Versions: where an event stands in the history of its subject, by the provider's own account.

/// A comparable value. docs/ordering.md tells for each event what it is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// What the numbers are, in words that an operator reads: versions of different scales are not compared by number.
    pub scale: &'static str,
    /// Compared from the left.
    pub parts: Vec<i64>,
    /// The states before and after, where events of the subject form a chain.
    pub chain: Option<Chain>,
}

/// How an event leads from one state of its subject to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The state before; `None` when there was none.
    pub from: Option<String>,
    /// The state after; `None` when there is none any more.
    pub to: Option<String>,
    /// Whether it decides before the numbers do, or only where they are equal.
    pub is_first: bool,
}
