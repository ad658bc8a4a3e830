//! What an expression may do: takes a parsed expression, gives what is wrong with it. Never runs it.

use cel::{
    IdedExpr,
    common::ast::{ComprehensionExpr, EntryExpr, Expr},
};

use super::Mistake;
use crate::config::nearest;

/// What an expression may look at.
const VARIABLES: [&str; 3] = ["payload", "event", "source"];

/// Names of types, for `type(payload.id) == int`.
const TYPES: [&str; 11] =
    ["bool", "bytes", "double", "duration", "int", "list", "map", "null_type", "string", "timestamp", "uint"];

/// The functions that the Common Expression Language defines (language definition, "List of Standard Definitions") and
/// the interpreter has. Operators have names that begin with something else than a letter.
const FUNCTIONS: [&str; 26] = [
    "bool",
    "bytes",
    "contains",
    "double",
    "duration",
    "dyn",
    "endsWith",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "int",
    "matches",
    "size",
    "startsWith",
    "string",
    "timestamp",
    "type",
    "uint",
    "in",
];

/// Finds the first mistake that would otherwise show only when an event comes, or would let a payload decide how long the
/// expression takes.
///
/// A macro inside a macro may go through a part of the inner variable only (`payload.commits.exists(c,
/// c.added.exists(f, …))`), so that the macros together look at each value of a payload once per level. Two loops over
/// the whole payload would take hours where a hostile sender makes a long list.
pub(super) fn find_mistake(expression: &IdedExpr) -> Option<Mistake> {
    Walk { loops: Vec::new() }.visit(expression).err()
}

struct Walk<'e> {
    /// The variables of the macros that enclose this place, innermost last.
    loops: Vec<&'e str>,
}

impl<'e> Walk<'e> {
    fn visit(&mut self, expression: &'e IdedExpr) -> Result<(), Mistake> {
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.visit_name(name),
            Expr::Select(select) => self.visit(&select.operand),
            Expr::Call(call) => {
                if call.func_name.starts_with(|letter: char| letter.is_ascii_alphabetic())
                    && !FUNCTIONS.contains(&call.func_name.as_str())
                {
                    return Err(unknown_function(&call.func_name));
                }
                call.target.as_deref().map_or(Ok(()), |target| self.visit(target))?;
                call.args.iter().try_for_each(|argument| self.visit(argument))
            }
            Expr::List(list) => list.elements.iter().try_for_each(|element| self.visit(element)),
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| self.visit_entry(&entry.expr)),
            Expr::Struct(_) => Err(Mistake::new("makes an object", "use the values of the payload as they are")),
            Expr::Comprehension(comprehension) => self.visit_macro(comprehension),
        }
    }

    fn visit_name(&self, name: &str) -> Result<(), Mistake> {
        // Names with an at sign are the macros' own.
        let is_known =
            VARIABLES.contains(&name) || TYPES.contains(&name) || self.loops.contains(&name) || name.starts_with('@');
        if is_known {
            return Ok(());
        }
        let problem = format!("speaks of {name:?}, which does not exist");
        let meant = nearest(name, VARIABLES.into_iter()).map_or(format!("payload.{name}"), str::to_owned);
        Err(Mistake::new(problem, format!("did you mean {meant}? An expression sees payload, event and source")))
    }

    fn visit_entry(&mut self, entry: &'e EntryExpr) -> Result<(), Mistake> {
        match entry {
            EntryExpr::StructField(field) => self.visit(&field.value),
            EntryExpr::MapEntry(entry) => self.visit(&entry.key).and_then(|()| self.visit(&entry.value)),
        }
    }

    fn visit_macro(&mut self, comprehension: &'e ComprehensionExpr) -> Result<(), Mistake> {
        self.visit(&comprehension.iter_range)?;
        if let Some(inner) = self.loops.last()
            && root(&comprehension.iter_range) != Some(inner)
        {
            let problem = "has a macro inside a macro that goes through something else than a part of its variable";
            return Err(Mistake::new(problem, format!("go through a part of {inner}, such as {inner}.names")));
        }
        if has_macro(&comprehension.iter_range) {
            let problem = "has a macro that goes through what another macro made";
            return Err(Mistake::new(problem, "join the conditions of the two with &&"));
        }
        self.loops.push(&comprehension.iter_var);
        let inside =
            [&comprehension.accu_init, &comprehension.loop_cond, &comprehension.loop_step, &comprehension.result];
        let visited = inside.into_iter().try_for_each(|part| self.visit(part));
        self.loops.pop();
        visited
    }
}

fn unknown_function(name: &str) -> Mistake {
    let instead = match nearest(name, FUNCTIONS.into_iter()) {
        Some(near) => format!("did you mean {near}?"),
        None => "use a standard function, such as startsWith, contains, matches or size".to_owned(),
    };
    Mistake::new(format!("calls {name:?}, which is no function of CEL"), instead)
}

/// The name that a path such as `a.b[0].c` begins with.
fn root(expression: &IdedExpr) -> Option<&str> {
    match &expression.expr {
        Expr::Ident(name) => Some(name),
        Expr::Select(select) => root(&select.operand),
        Expr::Call(call) if call.func_name == "_[_]" => root(call.args.first()?),
        _ => None,
    }
}

fn has_macro(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::Comprehension(_) => true,
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) | Expr::Struct(_) => false,
        Expr::Select(select) => has_macro(&select.operand),
        Expr::Call(call) => call.target.as_deref().is_some_and(has_macro) || call.args.iter().any(has_macro),
        Expr::List(list) => list.elements.iter().any(has_macro),
        Expr::Map(map) => map.entries.iter().any(|entry| match &entry.expr {
            EntryExpr::StructField(field) => has_macro(&field.value),
            EntryExpr::MapEntry(entry) => has_macro(&entry.key) || has_macro(&entry.value),
        }),
    }
}
