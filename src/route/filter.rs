//! Filters: takes an event's facts, gives whether the event is wanted.

use cel::{Context, Env, Value};

use super::{Mistake, expression::Expression};

/// What an operator might write.
const EXAMPLE: &str = "payload.ref == \"refs/heads/main\"";

/// A filter that has been parsed and checked.
#[derive(Debug)]
pub(super) struct Filter(Expression);

impl Filter {
    /// Parses and checks.
    pub(super) fn compile(language: &Env, text: &str) -> Result<Self, Mistake> {
        Expression::compile(language, text, EXAMPLE).map(Self)
    }

    /// Runs the filter. An error is a sentence without anything of the payload.
    pub(super) fn wants(&self, facts: &Context<'_, '_>) -> Result<bool, String> {
        match self.0.run(facts)? {
            Value::Bool(wanted) => Ok(wanted),
            other => Err(format!("the filter gave a {} instead of true or false", other.type_of())),
        }
    }
}
