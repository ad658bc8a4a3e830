//! Reading a few fields of a large JSON text. Takes bytes and paths, gives fields and flags; never builds a tree of the
//! whole, never fails: what cannot be read is absent, and a flag says so.
//!
//! Two passes: one picks the wanted fields and thereby checks the grammar, one looks for what other readers trip over.
//! Of a repeated key the last one counts, as with `serde_json::Value` and JavaScript's `JSON.parse`.

mod members;
mod survey;

use std::borrow::Cow;

pub(super) use members::MEMBERS_MAX;
pub(crate) use members::members_of;
use survey::survey;

use crate::domain::Flag;

/// Flags of one receipt: a hostile payload must not make many.
const FLAGS_MAX: usize = 16;

/// What was read of a payload.
#[derive(Debug, Default)]
pub(super) struct Reading {
    fields: Vec<(&'static str, Field)>,
    /// Whether the payload is one JSON object of sound grammar.
    pub(super) is_object: bool,
    /// Whether `serde_json::Value` would take all of it.
    pub(super) is_usable: bool,
    /// Remarks, at most 16.
    pub(super) flags: Vec<Flag>,
}

/// The value of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    /// A text.
    Text(String),
    /// A whole number, as its digits: ids may be larger than any integer type.
    Integer(String),
    /// `true` or `false`.
    Truth(bool),
}

/// A path that is still to be followed: what is left of it, and all of it.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    rest: &'static str,
    path: &'static str,
}

/// Reads the fields at `paths` (`pull_request.id`). Absent and null fields are simply not there.
pub(super) fn read(json: &[u8], paths: impl IntoIterator<Item = &'static str>) -> Reading {
    let mut reading = Reading::default();
    if json.is_empty() {
        reading.flag(Flag::unparseable("the body is empty"));
        return reading;
    }
    let text = match std::str::from_utf8(json) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) => {
            reading.flag(Flag::unparseable(&format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1)));
            // The fields that are sound can still be read.
            String::from_utf8_lossy(json)
        }
    };
    let mut wanted: Vec<Wanted> = Vec::new();
    for path in paths {
        if !wanted.iter().any(|known| known.path == path) {
            wanted.push(Wanted { rest: path, path });
        }
    }
    if let Err(error) = reading.pick_all(&text, &wanted) {
        reading.flag(Flag::unparseable(&format!("not JSON: {error}")));
        return reading;
    }
    let is_sound = reading.look_over(text.as_bytes());
    reading.is_usable = is_sound && matches!(text, Cow::Borrowed(_));
    reading
}

impl Reading {
    /// The field at a path that was asked for.
    pub(super) fn field(&self, path: &str) -> Option<&Field> {
        self.fields.iter().find(|(held, _)| *held == path).map(|(_, field)| field)
    }

    /// The field at a path, if it is a text that is not empty.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        match self.field(path)? {
            Field::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The field at a path, if it is a text that is not empty or a whole number.
    pub(super) fn word(&self, path: &str) -> Option<&str> {
        match self.field(path)? {
            Field::Text(word) | Field::Integer(word) if !word.is_empty() => Some(word),
            _ => None,
        }
    }

    /// Adds a remark, while there are few.
    pub(super) fn flag(&mut self, flag: Flag) {
        if self.flags.len() < FLAGS_MAX && !self.flags.contains(&flag) {
            self.flags.push(flag);
        }
    }

    /// Picks from the whole text, and checks its grammar.
    fn pick_all(&mut self, text: &str, wanted: &[Wanted]) -> Result<(), serde_json::Error> {
        if text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{') {
            self.pick(text, wanted)?;
            self.is_object = true;
        } else {
            serde_json::from_str::<serde::de::IgnoredAny>(text)?;
            self.flag(Flag::new("the payload is no JSON object"));
        }
        Ok(())
    }

    /// Picks from the text of one object, then from the objects within it that a path leads through.
    fn pick(&mut self, object: &str, wanted: &[Wanted]) -> Result<(), serde_json::Error> {
        let head = |wanted: &Wanted| wanted.rest.split('.').next().unwrap_or(wanted.rest);
        let members = members_of(object, |key| wanted.iter().any(|wanted| head(wanted).as_bytes() == key))?;
        if let Some(key) = &members.repeated {
            self.flag(Flag::new(&format!("duplicate key: {}", String::from_utf8_lossy(key))));
        }
        for (place, (key, value)) in members.wanted.iter().enumerate() {
            // Of a repeated key, the last one counts.
            if members.wanted[place + 1..].iter().any(|(later, _)| later == key) {
                continue;
            }
            let mut deeper = Vec::new();
            for wanted in wanted.iter().filter(|wanted| head(wanted).as_bytes() == key.as_ref()) {
                match wanted.rest.split_once('.') {
                    Some((_, rest)) => deeper.push(Wanted { rest, path: wanted.path }),
                    None => self.keep(wanted.path, value.get()),
                }
            }
            if !deeper.is_empty() && value.get().starts_with('{') {
                self.pick(value.get(), &deeper)?;
            }
        }
        Ok(())
    }

    /// Keeps a field, or flags that it is nothing to be read here.
    fn keep(&mut self, path: &'static str, value: &str) {
        let digits = value.strip_prefix('-').unwrap_or(value);
        let field = match value {
            "null" => return,
            "true" => Some(Field::Truth(true)),
            "false" => Some(Field::Truth(false)),
            _ if value.starts_with('"') => serde_json::from_str(value).ok().map(Field::Text),
            _ if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(Field::Integer(value.to_owned())),
            _ => None,
        };
        match field {
            Some(field) => self.fields.push((path, field)),
            None => self.flag(Flag::new(&format!("unreadable field: {path}"))),
        }
    }

    /// Flags what other readers trip over; tells whether `serde_json` takes the text.
    fn look_over(&mut self, json: &[u8]) -> bool {
        let found = survey(json);
        let refused = [
            (found.lone_surrogate, "lone surrogate"),
            (found.too_deep, "128 levels deep"),
            (found.too_large, "number out of range"),
            (found.control_character, "control character"),
        ];
        let mut is_sound = true;
        for (place, what) in refused {
            if let Some(place) = place {
                self.flag(Flag::unparseable(&format!("{what} at byte {place}")));
                is_sound = false;
            }
        }
        if let Some(place) = found.nul_escape {
            self.flag(Flag::new(&format!("nul escape at byte {place}: SQL cannot hold this text")));
        }
        is_sound
    }
}
