//! The configuration as written, before it means anything: a TOML document turned into nodes that each know their place,
//! so that a mistake found later can still name its line.

use std::collections::BTreeMap;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{error::Findings, schema::Schema};

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// On this line of the file.
    Line(usize),
    /// The file as a whole.
    File,
    /// In this variable of the environment.
    Variable(String),
}

/// One value and its place.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) place: Place,
}

/// A table: its entries by key.
pub(super) type Entries = BTreeMap<String, Node>;

/// A TOML value.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    /// `None`: beyond 64 bits.
    Integer(Option<i64>),
    Flag(bool),
    List(Vec<Node>),
    Table(Entries),
    /// A float or a date: no setting is one.
    Other(&'static str),
}

impl Value {
    /// What to call it in an error.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text in quotes",
            Self::Integer(_) => "a whole number",
            Self::Flag(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(name) => name,
        }
    }
}

/// Reads a whole document. Each mistake of grammar is a finding, named without the text around it, which may hold a secret.
pub(super) fn parse_document(text: &str, findings: &Findings) -> Option<Entries> {
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let place = error.span().map_or(Place::File, |span| Place::Line(line_of(text, span.start)));
        let duplicate = error.message().contains("duplicate");
        let instead = if duplicate {
            "a key or [table] may stand only once: join the two, or remove one"
        } else {
            "write TOML (https://toml.io): texts in quotes, [table] headings on lines of their own"
        };
        findings.mistake(&place, "", error.message(), instead);
    }
    errors.is_empty().then(|| entries(table.get_ref(), &|at| Place::Line(line_of(text, at))))
}

/// Reads the value of a variable of the environment, written as TOML.
pub(super) fn parse_value(text: &str, place: &Place) -> Option<Node> {
    let value = DeValue::parse(text).ok()?;
    Some(Node { value: convert(value.get_ref(), &|_| place.clone()), place: place.clone() })
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

fn entries(table: &DeTable<'_>, place: &dyn Fn(usize) -> Place) -> Entries {
    table
        .iter()
        .map(|(key, value)| {
            // The key's place, not the value's: the value of [sources.github] begins wherever its first line does.
            let node = Node { value: convert(value.get_ref(), place), place: place(key.span().start) };
            (key.get_ref().to_string(), node)
        })
        .collect()
}

fn convert(value: &DeValue<'_>, place: &dyn Fn(usize) -> Place) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => Value::Integer(i64::from_str_radix(number.as_str(), number.radix()).ok()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Float(_) => Value::Other("a number with a decimal point"),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(list) => Value::List(list.iter().map(|item| item_of(item, place)).collect()),
        DeValue::Table(table) => Value::Table(entries(table, place)),
    }
}

fn item_of(item: &Spanned<DeValue<'_>>, place: &dyn Fn(usize) -> Place) -> Node {
    Node { value: convert(item.get_ref(), place), place: place(item.span().start) }
}

/// The key of `[schema.NAME]`-like headings, with the name that was written.
pub(super) fn heading(schema: &Schema, path: &str) -> String {
    match schema.heading {
        "" => schema.place().to_owned(),
        named if named.contains("NAME") => format!("[{path}]"),
        other => other.to_owned(),
    }
}
