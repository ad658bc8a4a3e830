//! What an operator has to do so that a function can be called: takes the settings and what the catalogue says, gives a
//! sentence with the statement to run. Pure.

use crate::{config::SqlDestination, store::sql_functions::Found};

/// What is missing first; `None`: nothing.
pub(crate) fn for_missing(settings: &SqlDestination, found: &Found) -> Option<String> {
    let (schema, role) = (quoted(&settings.schema), quoted(&settings.role));
    let function = format!("{schema}.{}", quoted(&settings.function));
    let own = quoted(&found.own_role);
    if !found.has_role {
        return Some(format!("found no role {role}; run: create role {role} nologin; grant {role} to {own}"));
    }
    if found.is_superuser {
        return Some(format!(
            "was not called as {role}, which is a superuser and could change Oncehook's own tables; name another role: create \
             role NAME nologin; grant NAME to {own}"
        ));
    }
    if found.has_usage.is_none() {
        return Some(format!(
            "found no schema {schema}; run: create schema {schema}; grant usage on schema {schema} to {role}"
        ));
    }
    if found.quoted.is_none() {
        return Some(format!(
            "found no function {function} of this form in {schema}; run: create function {function}(receipt jsonb, payload \
             jsonb) returns void language plpgsql as $$ begin … end $$"
        ));
    }
    if found.has_usage == Some(false) {
        return Some(format!("may not use schema {schema} as {role}; run: grant usage on schema {schema} to {role}"));
    }
    let forbidden =
        [(found.takes_jsonb, "jsonb"), (found.takes_bytes, "bytea")].into_iter().find(|(may, _)| *may == Some(false));
    forbidden.map(|(_, form)| {
        format!("may not call {function} as {role}; run: grant execute on function {function}(jsonb, {form}) to {role}")
    })
}

/// The role is there, and not ours to take.
pub(super) fn for_grant(role: &str, found: &Found) -> String {
    let (role, own) = (quoted(role), quoted(&found.own_role));
    format!("Oncehook's role {own} may not act as {role}; run: grant {role} to {own}")
}

/// A variant that takes what jsonb does not.
pub(super) fn for_bytes(settings: &SqlDestination) -> String {
    let function = format!("{}.{}", quoted(&settings.schema), quoted(&settings.function));
    format!("create function {function}(receipt jsonb, payload bytea) returns void …, and ask for the delivery again")
}

/// A name as a statement needs it.
fn quoted(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
