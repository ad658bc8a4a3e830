//! Takes the keys out of one table: converts each to its type, collects what is wrong, and reports what is left over as
//! unknown. A value that is wrong is replaced by the default, so that reading goes on to the next mistake.

use std::{cell::RefCell, collections::BTreeSet, fmt::Display, ops::RangeInclusive, time::Duration};

use super::{
    error::Findings,
    schema::{Kind, Schema},
    tree::{Entries, Node, Place, Value, heading},
    units::{parse_duration, parse_size, show_duration, show_size},
};

/// One table being read.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    entries: &'a Entries,
    schema: &'static Schema,
    /// The keys above, joined by dots; empty at the top.
    pub(super) path: String,
    /// Where the table begins: the place of what is missing in it.
    pub(super) place: Place,
    pub(super) findings: &'a Findings,
    taken: RefCell<BTreeSet<&'static str>>,
}

static NO_ENTRIES: Entries = Entries::new();

impl<'a> Reader<'a> {
    pub(super) fn new(node: &'a Node, schema: &'static Schema, path: String, findings: &'a Findings) -> Self {
        let entries = match &node.value {
            Value::Table(entries) => entries,
            other => {
                let heading =
                    if schema.heading.contains('{') { "key = { … }".into() } else { heading(schema, &path) };
                let problem = format!("is {}, where a table is expected", other.type_name());
                findings.mistake(
                    &node.place,
                    &path,
                    problem,
                    format!("write {heading} with the keys {}", keys(schema)),
                );
                &NO_ENTRIES
            }
        };
        Self { entries, schema, path, place: node.place.clone(), findings, taken: RefCell::default() }
    }

    /// The whole path of one key.
    pub(super) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// A mistake in one key's value, or in its absence.
    pub(super) fn mistake(&self, key: &str, problem: impl Into<String>, instead: impl Into<String>) {
        let place = self.entries.get(key).map_or(&self.place, |node| &node.place);
        self.findings.mistake(place, &self.path_of(key), problem, instead);
    }

    /// Whether the key was written at all.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Takes a key as it is.
    pub(super) fn node(&self, key: &'static str) -> Option<&'a Node> {
        debug_assert!(self.schema.kind_of(key).is_some(), "{key} is missing in the schema of {}", self.schema.place());
        self.taken.borrow_mut().insert(key);
        self.entries.get(key)
    }

    /// Takes a text.
    pub(super) fn text(&self, key: &'static str, example: &str) -> Option<&'a str> {
        match &self.node(key)?.value {
            Value::Text(text) => Some(text),
            other => self.refuse(key, other, &format!("write a text in quotes, such as {example:?}")),
        }
    }

    /// Takes a text that must be there.
    pub(super) fn required(&self, key: &'static str, instead: &str) -> Option<&'a str> {
        match self.node(key).map(|node| &node.value) {
            Some(Value::Text(text)) => Some(text),
            Some(other) => self.refuse(key, other, instead),
            None => {
                self.mistake(key, "is missing", instead);
                None
            }
        }
    }

    /// Takes true or false.
    pub(super) fn flag(&self, key: &'static str) -> Option<bool> {
        match &self.node(key)?.value {
            Value::Flag(flag) => Some(*flag),
            other => self.refuse(key, other, "write true or false, without quotes"),
        }
    }

    /// Takes a whole number within bounds.
    pub(super) fn integer<T>(&self, key: &'static str, default: T, range: RangeInclusive<T>) -> T
    where
        T: Copy + PartialOrd + Display + TryFrom<i64>,
    {
        let Some(node) = self.node(key) else { return default };
        let bounds = format!("write a whole number from {} to {}, such as {default}", range.start(), range.end());
        match &node.value {
            Value::Integer(number) => {
                let fitting = number.and_then(|number| T::try_from(number).ok()).filter(|n| range.contains(n));
                fitting.unwrap_or_else(|| {
                    let shown = number.map_or("beyond 64 bits".into(), |number| number.to_string());
                    self.mistake(key, format!("is {shown}, which is out of bounds"), bounds);
                    default
                })
            }
            Value::Text(text) if text.parse::<i64>().is_ok() => {
                self.mistake(
                    key,
                    "is a text in quotes, where a whole number is expected",
                    format!("write {text}, without quotes"),
                );
                default
            }
            other => self.refuse(key, other, &bounds).unwrap_or(default),
        }
    }

    /// Takes a whole number within bounds that need not be there.
    pub(super) fn limit(&self, key: &'static str, example: u32, range: RangeInclusive<u32>) -> Option<u32> {
        self.has(key).then(|| self.integer(key, example, range))
    }

    /// Takes one of a few words; the first is the default. `meaning` says in an error what each is for.
    pub(super) fn choice<T: Copy>(&self, key: &'static str, words: &[(&str, T)], what: &str, meaning: &str) -> T {
        let (default, first) = words[0];
        let Some(text) = self.text(key, default) else { return first };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return *value;
        }
        self.mistake(key, format!("is {text:?}, which is no {what}"), format!("write {meaning}"));
        first
    }

    /// Takes a duration within bounds.
    pub(super) fn duration(&self, key: &'static str, default: Duration, range: RangeInclusive<Duration>) -> Duration {
        let (low, high) = (show_duration(*range.start()), show_duration(*range.end()));
        let bounds = format!(
            "write a time with its unit (d, h, m, s, ms) from \"{low}\" to \"{high}\", such as \"{}\"",
            show_duration(default)
        );
        self.quantity(key, parse_duration, "s", &bounds).map_or(default, |value| {
            if range.contains(&value) {
                return value;
            }
            self.mistake(key, format!("is {}, which is out of bounds", show_duration(value)), &*bounds);
            default
        })
    }

    /// Takes a size within bounds, in bytes.
    pub(super) fn size(&self, key: &'static str, default: u64, range: RangeInclusive<u64>) -> u64 {
        let (low, high) = (show_size(*range.start()), show_size(*range.end()));
        let bounds = format!(
            "write a size with its unit (B, KiB, MiB, GiB) from \"{low}\" to \"{high}\", such as \"{}\"",
            show_size(default)
        );
        self.quantity(key, parse_size, "B", &bounds).map_or(default, |value| {
            if range.contains(&value) {
                return value;
            }
            self.mistake(key, format!("is {}, which is out of bounds", show_size(value)), &*bounds);
            default
        })
    }

    /// Takes a list's items, each with its own path.
    pub(super) fn list(&self, key: &'static str, example: &str) -> Option<Vec<(String, &'a Node)>> {
        match &self.node(key)?.value {
            Value::List(items) => {
                Some(items.iter().enumerate().map(|(n, item)| (format!("{}[{n}]", self.path_of(key)), item)).collect())
            }
            other => self.refuse(key, other, &format!("write a list, such as {example}")),
        }
    }

    /// Takes a table; an absent one reads like an empty one.
    pub(super) fn table(&self, key: &'static str) -> Reader<'a> {
        let Some(Kind::Table(schema)) = self.schema.kind_of(key) else {
            unreachable!("{key} is a table in the schema of {}", self.schema.place());
        };
        let path = self.path_of(key);
        match self.node(key) {
            Some(node) => Reader::new(node, schema, path, self.findings),
            None => Reader {
                entries: &NO_ENTRIES,
                schema,
                path,
                place: self.place.clone(),
                findings: self.findings,
                taken: RefCell::default(),
            },
        }
    }

    /// Takes the tables below a key whose names the operator chose.
    pub(super) fn named(&self, key: &'static str) -> Vec<(&'a str, Reader<'a>)> {
        let (Some(Kind::Named(schema)), Some(node)) = (self.schema.kind_of(key), self.node(key)) else {
            return Vec::new();
        };
        let Value::Table(entries) = &node.value else {
            let instead = format!("write one table for each: {}", schema.heading);
            self.mistake(key, format!("is {}, where tables are expected", node.value.type_name()), instead);
            return Vec::new();
        };
        let read = |(name, node): (&'a String, &'a Node)| {
            (name.as_str(), Reader::new(node, schema, format!("{}.{name}", self.path_of(key)), self.findings))
        };
        entries.iter().map(read).collect()
    }

    /// Takes a list of tables.
    pub(super) fn rules(&self, key: &'static str) -> Vec<Reader<'a>> {
        let (Some(Kind::Rules(schema)), Some(node)) = (self.schema.kind_of(key), self.node(key)) else {
            return Vec::new();
        };
        let Value::List(items) = &node.value else {
            let instead = format!("write {} with two pairs of brackets, once for each", schema.heading);
            self.mistake(key, format!("is {}, where a list of tables is expected", node.value.type_name()), instead);
            return Vec::new();
        };
        let read = |(n, node): (usize, &'a Node)| {
            Reader::new(node, schema, format!("{}[{n}]", self.path_of(key)), self.findings)
        };
        items.iter().enumerate().map(read).collect()
    }

    /// Takes keys that have no meaning here, and says why.
    pub(super) fn refuse_all(&self, keys: &[&'static str], problem: &str, instead: &str) {
        for key in keys {
            if self.node(key).is_some() {
                self.mistake(key, problem, instead);
            }
        }
    }

    /// Reports every key that nobody took.
    pub(super) fn finish(self) {
        let taken = self.taken.borrow();
        for key in self.entries.keys().filter(|key| !taken.contains(key.as_str())) {
            let problem = format!("is not a key of {}", heading(self.schema, &self.path));
            self.mistake(key, problem, self.schema.suggest(key));
        }
    }

    fn quantity<T>(&self, key: &'static str, parse: fn(&str) -> Option<T>, unit: &str, bounds: &str) -> Option<T> {
        match &self.node(key)?.value {
            Value::Text(text) => {
                let value = parse(text);
                if value.is_none() {
                    self.mistake(key, format!("is {text:?}, which cannot be read"), bounds);
                }
                value
            }
            Value::Integer(Some(number)) if *number >= 0 => {
                self.mistake(
                    key,
                    format!("is {number}, without a unit"),
                    format!("{bounds}; if that is {unit}: \"{number}{unit}\""),
                );
                None
            }
            other => self.refuse(key, other, bounds),
        }
    }

    fn refuse<T>(&self, key: &str, found: &Value, instead: &str) -> Option<T> {
        self.mistake(key, format!("is {}, which does not fit here", found.type_name()), instead);
        None
    }
}

fn keys(schema: &Schema) -> String {
    schema.keys.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
