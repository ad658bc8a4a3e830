//! Expressions: takes CEL and an event's facts, gives the value. Never panics over a payload, and never shows one.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use cel::{Context, Env, ExecutionError, Program, Value, objects::Key, objects::Map};

use super::{Mistake, check};

/// The longest expression. The parser recurses over it.
const LENGTH_MAX: usize = 4_096;

/// The longest part of a reason that comes from the expression's own text.
const NAME_LENGTH_MAX: usize = 80;

/// The language: the standard functions and macros of CEL.
pub(super) fn language() -> Arc<Env> {
    Arc::new(Env::stdlib())
}

/// An expression that has been parsed and checked.
#[derive(Debug)]
pub(super) struct Expression(Program);

impl Expression {
    /// Parses and checks. The error shows the place, where the parser tells; `example` is what to write instead.
    pub(super) fn compile(language: &Env, text: &str, example: &str) -> Result<Self, Mistake> {
        if text.len() > LENGTH_MAX {
            let problem = format!("is longer than {LENGTH_MAX} bytes");
            return Err(Mistake::new(problem, "write a shorter one, or several routes"));
        }
        let instead =
            || format!("write a CEL expression (https://cel.dev) over payload, event and source, such as '{example}'");
        // The parser is not ours, and a configuration must be refused rather than end the process.
        let parsed = catch_unwind(AssertUnwindSafe(|| language.compile(text)))
            .map_err(|_| Mistake::new("cannot be read as CEL", instead()))?;
        let program = parsed.map_err(|errors| Mistake::new(format!("cannot be compiled:\n{errors}"), instead()))?;
        match check::find_mistake(program.expression()) {
            Some(mistake) => Err(mistake),
            None => Ok(Self(program)),
        }
    }

    /// Runs it. An error is a sentence without anything of the payload.
    pub(super) fn run(&self, facts: &Context<'_, '_>) -> Result<Value, String> {
        // The interpreter is not ours, and this runs before the receipt is stored: a payload must not keep itself out.
        match catch_unwind(AssertUnwindSafe(|| self.0.execute(facts))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(describe(&error, &self.0.source_info().source)),
            Err(_) => Err("it could not be evaluated".to_owned()),
        }
    }
}

/// What an expression sees: `payload`, `event`, `source`.
pub(super) fn facts(
    language: &Arc<Env>,
    payload: serde_json::Value,
    event: &str,
    source: &str,
) -> Context<'static, 'static> {
    let mut facts = Context::with_env(Arc::clone(language));
    facts.add_variable_from_value("payload", to_cel(payload));
    facts.add_variable_from_value("event", event);
    facts.add_variable_from_value("source", source);
    facts
}

/// JSON as CEL: whole numbers are `int` where they fit, as a literal in an expression is, so that `payload.number + 1` works.
/// The parser of JSON has bounded the depth.
fn to_cel(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(value),
        serde_json::Value::Number(number) => number
            .as_i64()
            .map(Value::Int)
            .or_else(|| number.as_u64().map(Value::UInt))
            .unwrap_or_else(|| Value::Float(number.as_f64().unwrap_or(f64::NAN))),
        serde_json::Value::String(text) => Value::from(text),
        serde_json::Value::Array(items) => Value::List(Arc::new(items.into_iter().map(to_cel).collect())),
        serde_json::Value::Object(fields) => {
            let fields: HashMap<Key, Value> =
                fields.into_iter().map(|(name, value)| (Key::String(Arc::new(name)), to_cel(value))).collect();
            Value::Map(Map { map: Arc::new(fields) })
        }
    }
}

/// The interpreter's own texts print the values they are about; ours do not. A key's name is told where the expression itself
/// names it: it may also come from the payload.
fn describe(error: &ExecutionError, expression: &str) -> String {
    let short =
        |text: &str| text.chars().filter(|letter| !letter.is_control()).take(NAME_LENGTH_MAX).collect::<String>();
    match error {
        ExecutionError::NoSuchKey(name) if expression.contains(name.as_str()) => {
            format!("no such key: {} (guard it with has())", short(name))
        }
        ExecutionError::NoSuchKey(_) => "a key that the payload names is not there".to_owned(),
        ExecutionError::NoSuchOverload(overload) => {
            format!(
                "{} does not take values of these types: {}",
                short(overload.function()),
                overload.argument_types().join(", ")
            )
        }
        ExecutionError::UnexpectedType { want, .. } => format!("found something else than a {}", short(want)),
        ExecutionError::UndeclaredReference(name) => format!("nothing is named {}", short(name)),
        ExecutionError::IndexOutOfBounds(_) => "an index lies outside its list".to_owned(),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => "a division by zero".to_owned(),
        ExecutionError::Overflow(..) => "a number too large".to_owned(),
        ExecutionError::FunctionError { function, .. } => format!("{} does not take such a value", short(function)),
        _ => "a value of a type that it cannot use".to_owned(),
    }
}
