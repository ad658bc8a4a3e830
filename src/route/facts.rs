//! What filters and ordering keys look at: takes an event, gives its payload in the forms they need, each made once at most
//! and only when somebody asks.

use std::{cell::OnceCell, fmt, sync::Arc};

use cel::{Context, Env};

use super::{
    Event, FILTERED_BYTES_MAX, expression,
    pointer::{Pointed, Pointer, look_up},
};
use crate::domain::SourceName;

/// The facts of one event, for the routes of its source.
pub(super) struct Facts<'e> {
    event: &'e Event<'e>,
    source: &'e SourceName,
    language: &'e Arc<Env>,
    pointers: &'e [Pointer],
    context: OnceCell<Option<Context<'static, 'static>>>,
    pointed: OnceCell<Vec<Pointed>>,
}

/// Why nobody can look into a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// It is no usable JSON.
    Unusable,
    /// It is longer than [`FILTERED_BYTES_MAX`].
    TooLarge,
}

impl<'e> Facts<'e> {
    /// `pointers` are those of all the source's routes: they are followed together.
    pub(super) fn of(
        event: &'e Event<'e>,
        source: &'e SourceName,
        language: &'e Arc<Env>,
        pointers: &'e [Pointer],
    ) -> Self {
        Self { event, source, language, pointers, context: OnceCell::new(), pointed: OnceCell::new() }
    }

    /// As expressions see them.
    pub(super) fn context(&self) -> Result<&Context<'static, 'static>, Closed> {
        self.is_short_enough()?;
        let context = self.context.get_or_init(|| {
            let payload = (self.event.payload)()?;
            Some(expression::facts(self.language, payload, self.event.event_type.as_str(), self.source.as_str()))
        });
        context.as_ref().ok_or(Closed::Unusable)
    }

    /// What `pointer` points at.
    pub(super) fn pointed(&self, pointer: &Pointer) -> Result<&Pointed, Closed> {
        self.is_short_enough()?;
        let json = self.event.json.and_then(|json| std::str::from_utf8(json).ok()).ok_or(Closed::Unusable)?;
        let pointed = self.pointed.get_or_init(|| look_up(json, self.pointers));
        let place = self.pointers.iter().position(|known| known == pointer);
        Ok(place.and_then(|place| pointed.get(place)).unwrap_or(&Pointed::Absent))
    }

    fn is_short_enough(&self) -> Result<(), Closed> {
        if self.event.body_bytes > FILTERED_BYTES_MAX { Err(Closed::TooLarge) } else { Ok(()) }
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable => f.write_str("the payload is no usable JSON"),
            Self::TooLarge => {
                write!(f, "the body is longer than the {FILTERED_BYTES_MAX} bytes that routes look into")
            }
        }
    }
}
