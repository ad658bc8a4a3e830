//! Ordering keys of routes that do not take the provider's: takes an event's facts, gives the key, or why there is none.
//! Different values have different keys, except that `1` and `"1"` have the same.

use cel::{Env, Value};

use super::{
    Mistake,
    expression::Expression,
    pointer::{Pointed, Pointer},
};
use crate::{config::KeyFrom, domain::OrderingKey};

/// What an operator might write.
const EXAMPLE: &str = "payload.repository.id";

/// Whole numbers beyond it are not exact as floating point: two ids could become one key.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Where a route's ordering keys come from, parsed.
#[derive(Debug)]
pub(super) enum Key {
    /// The provider's table.
    Auto,
    /// A place in the payload.
    Pointer(Pointer),
    /// Whatever the expression gives.
    Expression(Expression),
}

impl Key {
    /// Parses and checks.
    pub(super) fn compile(language: &Env, from: &KeyFrom) -> Result<Self, Mistake> {
        match from {
            KeyFrom::Auto => Ok(Self::Auto),
            KeyFrom::Pointer(text) => Pointer::parse(text).map(Self::Pointer),
            KeyFrom::Expression(text) => Expression::compile(language, text, EXAMPLE).map(Self::Expression),
        }
    }
}

/// The key that a place in the payload gives. `pointer` is for the reason.
pub(super) fn of_pointed(pointed: &Pointed, pointer: &Pointer) -> Result<OrderingKey, String> {
    match pointed {
        Pointed::Scalar(text) => of_text(text),
        Pointed::Absent => Err(format!("the payload has no {pointer}")),
        Pointed::Other(what) => Err(format!("{pointer} is {what}")),
    }
}

/// The key that an expression gives.
pub(super) fn of_value(value: &Value) -> Result<OrderingKey, String> {
    match value {
        Value::String(text) => of_text(text),
        Value::Int(number) => of_text(&number.to_string()),
        Value::UInt(number) => of_text(&number.to_string()),
        Value::Bool(truth) => of_text(&truth.to_string()),
        Value::Float(number) if number.abs() < EXACT_MAX => of_text(&number.to_string()),
        Value::Float(_) => Err("the number is too large to be exact in an expression: use a JSON pointer".to_owned()),
        other => Err(format!("the expression gave a {} instead of a text, a number or a truth value", other.type_of())),
    }
}

fn of_text(text: &str) -> Result<OrderingKey, String> {
    if text.is_empty() { Err("the value is empty".to_owned()) } else { Ok(OrderingKey::new(text)) }
}
