//! Identifiers that Oncehook allots: `rcp_…`, `dlv_…`, `att_…`. Sortable by time (a ULID behind a prefix), one type
//! each so that they cannot be mixed up. The provider's own id is [`DeliveryId`](super::DeliveryId), not one of these.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Utc};
use ulid::Ulid;
use uuid::Uuid;

/// What a ULID begins with. A time before 1970 becomes 1970.
fn milliseconds(time: DateTime<Utc>) -> u64 {
    u64::try_from(time.timestamp_millis()).unwrap_or(0)
}

/// The first and the last ULID that begin with these digits.
fn padded(digits: &str) -> Option<(Ulid, Ulid)> {
    // The first digit holds three bits, the others five.
    const LAST: &str = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
    if digits.len() > ulid::ULID_LEN
        || !digits.is_ascii()
        || digits.as_bytes().first().is_some_and(|first| *first > b'7')
    {
        return None;
    }
    let first = Ulid::from_string(&format!("{digits:0<26}")).ok()?;
    let last = Ulid::from_string(&format!("{digits}{}", &LAST[digits.len()..])).ok()?;
    Some((first, last))
}

/// A text that is not an id of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a {what} id: expected {prefix:?} followed by 26 letters and digits")]
pub struct ParseIdError {
    what: &'static str,
    prefix: &'static str,
    text: String,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Ulid);

        impl $name {
            /// What each of these ids begins with.
            pub const PREFIX: &'static str = $prefix;

            /// A new id: 48 bits of milliseconds, 80 random bits.
            #[must_use]
            #[expect(clippy::new_without_default, reason = "a new id is an act, not a default")]
            pub fn new() -> Self {
                Self(Ulid::generate())
            }

            /// A new id that says it was made at `time`: where a list is to follow the time that an operator sees.
            #[must_use]
            pub fn at(time: DateTime<Utc>) -> Self {
                Self(Ulid::from_parts(milliseconds(time), Ulid::generate().random()))
            }

            /// The least id that says it was made at `time`, or later.
            #[must_use]
            pub fn first_at(time: DateTime<Utc>) -> Self {
                Self(Ulid::from_parts(milliseconds(time), 0))
            }

            /// The ids that begin with `text`, its prefix included: the first and the last. `None`: none can.
            #[must_use]
            pub fn beginning_with(text: &str) -> Option<(Self, Self)> {
                let digits = text.strip_prefix($prefix)?.to_ascii_uppercase();
                let (first, last) = padded(&digits)?;
                Some((Self(first), Self(last)))
            }

            /// The 128 bits, as the database keeps them.
            #[must_use]
            pub fn uuid(self) -> Uuid {
                Uuid::from_u128(self.0.0)
            }
        }

        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(Ulid(uuid.as_u128()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, self.0.to_string().to_ascii_lowercase())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let refused = || ParseIdError {
                    what: $what,
                    prefix: $prefix,
                    text: text.chars().take(64).collect(),
                };
                let digits = text.strip_prefix($prefix).ok_or_else(refused)?;
                if digits.len() != ulid::ULID_LEN {
                    return Err(refused());
                }
                Ulid::from_string(&digits.to_ascii_uppercase())
                    .map(Self)
                    .map_err(|_| refused())
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                utoipa::openapi::schema::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .pattern(Some(concat!("^", $prefix, "[0-9a-z]{26}$")))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {}

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// Names one receipt, for ever: printed in answers, searched for by operators.
    ReceiptId,
    "rcp_",
    "receipt"
);
id!(
    /// Names one delivery (one receipt × one route). It is the `Idempotency-Key` that destinations see, the same on
    /// every attempt.
    DeliveryRef,
    "dlv_",
    "delivery"
);
id!(
    /// Names one attempt of a delivery.
    AttemptId,
    "att_",
    "attempt"
);
/// Names one row on the apalis queue ("drain this lane"). A lane that changes its job is fenced by this id.
///
/// It has no prefix and stands in capitals, unlike the ids above: apalis-postgres 1.0.0 reads `apalis.jobs.id` as a bare
/// ULID (another text ends the worker) and acknowledges by the ULID's canonical, upper-case form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(Ulid);

impl JobId {
    /// A new id: 48 bits of milliseconds, 80 random bits.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a new id is an act, not a default")]
    pub fn new() -> Self {
        Self(Ulid::generate())
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for JobId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let refused = || ParseIdError { what: "job", prefix: "", text: text.chars().take(64).collect() };
        if text.len() != ulid::ULID_LEN {
            return Err(refused());
        }
        Ulid::from_string(text).map(Self).map_err(|_| refused())
    }
}

impl serde::Serialize for JobId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_from_its_own_text() {
        let id = ReceiptId::new();
        assert_eq!(id.to_string().parse::<ReceiptId>().unwrap(), id);
        assert_eq!(ReceiptId::from(id.uuid()), id);
    }

    #[test]
    fn an_id_of_another_kind_is_refused_with_the_prefix_to_use() {
        let text = DeliveryRef::new().to_string();
        let refusal = text.parse::<ReceiptId>().unwrap_err().to_string();
        assert!(refusal.contains("rcp_"), "{refusal}");
        for bad in ["", "rcp_", "rcp_é", "rcp_0000000000000000000000000é", "rcp_zzzzzzzzzzzzzzzzzzzzzzzzzzz"] {
            assert!(bad.parse::<ReceiptId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_job_id_is_written_the_way_apalis_reads_it() {
        let id = JobId::new();
        let text = id.to_string();
        assert_eq!(Ulid::from_string(&text).unwrap().to_string(), text);
        assert_eq!(text.parse::<JobId>().unwrap(), id);
        assert!(format!("job_{text}").parse::<JobId>().is_err());
    }

    #[test]
    fn ids_that_begin_alike_lie_in_one_range() {
        let id = ReceiptId::new();
        for length in 4..=30 {
            let (first, last) = ReceiptId::beginning_with(&id.to_string()[..length]).unwrap();
            assert!(first <= id && id <= last && (first == last) == (length == 30));
        }
        for none in ["", "rcp", "dlv_0", "rcp_8", "rcp_u", "rcp_é", "rcp_0 ", "rcp_00000000000000000000000000a"] {
            assert_eq!(ReceiptId::beginning_with(none), None, "{none}");
        }
        let time = "2026-12-03T08:00:00Z".parse().unwrap();
        assert!(ReceiptId::first_at(time) <= ReceiptId::at(time));
    }

    #[test]
    fn ids_sort_by_the_time_they_were_made() {
        let early = ReceiptId(Ulid::from_parts(1_000, u128::MAX >> 48));
        let late = ReceiptId(Ulid::from_parts(1_001, 0));
        assert!(early.to_string() < late.to_string() && early.uuid() < late.uuid());
    }
}
