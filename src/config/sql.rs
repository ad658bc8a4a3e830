//! [destinations.NAME] of kind "sql" and "handler": what shares a transaction with its settlement. It checks what can be
//! known without the database.

use std::time::Duration;

use super::{
    compiled::{HandlerDestination, SqlDestination},
    reader::Reader,
};

/// The keys that only an SQL function has.
pub(super) const SQL_KEYS: [&str; 3] = ["function", "role", "search_path"];

/// PostgreSQL's limit, beyond which it would cut a name and mean another one.
const NAME_BYTES_MAX: usize = 63;

/// The settings of an SQL function. `None`: a name is wrong, which has been reported.
pub(super) fn sql(table: &Reader<'_>) -> Option<SqlDestination> {
    const FUNCTION: &str =
        "write the schema and the function, as the database has them: function = \"billing.on_event\"";
    const ROLE: &str = "name the role that the function runs as, such as role = \"billing_writer\": one that may do what the \
                        function does, and nothing with the tables of Oncehook";
    // Everything is read before anything is given up, so that all mistakes are found.
    let (function, role, timeout) =
        (table.required("function", FUNCTION), table.required("role", ROLE), timeout(table));
    let function = function.and_then(|text| {
        let parts = text.split_once('.').filter(|(schema, name)| is_name(schema) && is_name(name));
        if parts.is_none() {
            table.mistake("function", format!("is {text:?}, which does not name one function in one schema"), FUNCTION);
        }
        parts
    });
    let role = role.filter(|role| {
        // PostgreSQL reads "none" as "no role at all", which would be our own.
        let is_usable = is_name(role) && *role != "none";
        if !is_usable {
            table.mistake("role", format!("is {role:?}, which cannot be the name of a role"), ROLE);
        }
        is_usable
    });
    let search_path = search_path(table);
    let ((schema, function), role) = (function?, role?);
    Some(SqlDestination {
        schema: schema.to_owned(),
        function: function.to_owned(),
        role: role.to_owned(),
        search_path: search_path?.unwrap_or_else(|| vec![schema.to_owned()]),
        timeout,
    })
}

/// The settings of a Rust handler, which its program registers under the destination's name.
pub(super) fn handler(table: &Reader<'_>) -> HandlerDestination {
    HandlerDestination { timeout: timeout(table) }
}

fn timeout(table: &Reader<'_>) -> Duration {
    table.duration("timeout", Duration::from_secs(30), Duration::from_millis(10)..=Duration::from_secs(3_600))
}

/// `None`: it is wrong. `Some(None)`: it is not written.
fn search_path(table: &Reader<'_>) -> Option<Option<Vec<String>>> {
    const EXAMPLE: &str = "billing, shared";
    let Some(text) = table.text("search_path", EXAMPLE) else {
        return if table.has("search_path") { None } else { Some(None) };
    };
    let schemas: Vec<String> = text.split(',').map(|schema| schema.trim().to_owned()).collect();
    let is_temporary = |schema: &String| schema.starts_with("pg_temp");
    if schemas.iter().all(|schema| is_name(schema) && !is_temporary(schema)) {
        return Some(Some(schemas));
    }
    let instead =
        format!("write one schema or several, such as \"{EXAMPLE}\"; temporary tables are found last by themselves");
    table.mistake("search_path", format!("is {text:?}, which is no list of schemas"), instead);
    None
}

/// Names stand for themselves, without SQL's quotes and folding; a dot or a comma in one would be ambiguous.
fn is_name(text: &str) -> bool {
    let is_plain = |letter: char| !letter.is_control() && !letter.is_whitespace() && !"\".,'".contains(letter);
    !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.chars().all(is_plain)
}
