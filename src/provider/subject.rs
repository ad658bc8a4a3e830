//! Subjects: what an event is about, as templates over fields of the payload. Takes what was read of a payload, gives
//! the ordering key and the event time; never lets two different things share a key.

use std::borrow::Cow;

use super::{
    history::Step,
    json::{Field, Reading},
    moment::{self, Moment},
};
use crate::domain::{EventTime, Flag, OrderingKey};

/// One kind of event in a provider's table.
#[derive(Debug)]
pub(super) struct EventRow {
    /// The provider's name for it, without action.
    pub(super) name: &'static str,
    /// Its ordering key: the first template whose every part can be read. Empty: these events are commands or have no
    /// subject, and need not wait for one another.
    pub(super) keys: &'static [KeyTemplate],
    /// Where its time is, best first: the first that holds a time. Text is RFC 3339 (or the like), a number is seconds since
    /// 1970; the JSON says which. Empty: the payload has no time that moves with the event.
    pub(super) times: &'static [&'static str],
    /// What tells the earlier of two events from the later. Empty: an event of this kind is never stale, since it does not
    /// replace those before it.
    pub(super) version: &'static [Step],
}

/// How an ordering key is put together: `namespace/part/part`.
#[derive(Debug)]
pub(super) struct KeyTemplate {
    /// Keeps things of different kinds apart. Empty where the ids do that themselves.
    pub(super) namespace: &'static str,
    /// What follows, in order.
    pub(super) parts: &'static [Part],
}

/// One part of an ordering key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// The text or whole number at this path.
    Field(&'static str),
    /// The full name of a git reference: `ref` in a push, `ref` and `ref_type` in create and delete, whose names are short.
    FullRef,
}

impl EventRow {
    /// Every field that this row may look at.
    pub(super) fn fields(&self) -> impl Iterator<Item = &'static str> {
        let parts = self.keys.iter().flat_map(|key| key.parts);
        parts
            .flat_map(|part| match part {
                Part::Field(path) => [Some(*path), None],
                Part::FullRef => [Some("ref"), Some("ref_type")],
            })
            .flatten()
            .chain(self.times.iter().copied())
            .chain(self.version_fields())
    }

    /// The ordering key. Where the row has templates and none can be filled in, there is a flag instead.
    pub(super) fn ordering_key(&self, reading: &mut Reading) -> Option<OrderingKey> {
        let key = self.keys.iter().find_map(|template| template.fill_in(reading));
        if key.is_none()
            && reading.is_object
            && let Some(template) = self.keys.first()
        {
            reading.flag(Flag::new(&format!("no ordering key: the payload lacks {template}")));
        }
        key.map(|text| OrderingKey::new(&text))
    }

    /// The event time. A field that holds something else than a time is flagged, and the next one asked.
    pub(super) fn event_time(&self, reading: &mut Reading) -> Option<EventTime> {
        for &path in self.times {
            let moment = match reading.field(path) {
                Some(Field::Text(text)) => moment::from_text(text),
                Some(Field::Integer(digits)) => moment::from_digits(digits),
                Some(Field::Truth(_)) => Moment::Unreadable,
                None => continue,
            };
            match moment {
                Moment::At(at) => return Some(EventTime { at, path }),
                Moment::Never => {}
                Moment::Unreadable => reading.flag(Flag::new(&format!("unreadable time: {path}"))),
            }
        }
        None
    }
}

impl KeyTemplate {
    fn fill_in(&self, reading: &Reading) -> Option<String> {
        let mut key = self.namespace.to_owned();
        for (place, part) in self.parts.iter().enumerate() {
            let text = part.read(reading)?;
            if !key.is_empty() {
                key.push('/');
            }
            // Invariant: only the last part may hold a slash, so that a/b + c and a + b/c stay apart.
            if place + 1 < self.parts.len() && text.contains(['/', '%']) {
                key.push_str(&text.replace('%', "%25").replace('/', "%2F"));
            } else {
                key.push_str(&text);
            }
        }
        Some(key)
    }
}

/// As docs/providers.md and flags write it: `pull_request/<pull_request.id>`.
impl std::fmt::Display for KeyTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.namespace)?;
        for (place, part) in self.parts.iter().enumerate() {
            let slash = if place > 0 || !self.namespace.is_empty() { "/" } else { "" };
            match part {
                Part::Field(path) => write!(f, "{slash}<{path}>")?,
                Part::FullRef => write!(f, "{slash}<full ref>")?,
            }
        }
        Ok(())
    }
}

impl Part {
    fn read<'r>(&self, reading: &'r Reading) -> Option<Cow<'r, str>> {
        match self {
            Self::Field(path) => reading.word(path).map(Cow::Borrowed),
            Self::FullRef => {
                let name = reading.word("ref")?;
                Some(match reading.word("ref_type") {
                    Some("branch") => format!("refs/heads/{name}").into(),
                    Some("tag") => format!("refs/tags/{name}").into(),
                    _ => name.into(),
                })
            }
        }
    }
}
