//! Names that an operator writes in the configuration: of sources, their callers, routes and destinations.

use std::{fmt, str::FromStr};

/// The longest name: it appears in URLs, metric labels and index entries.
const NAME_LENGTH_MAX: usize = 64;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the name {name:?} is not usable: use 1 to 64 of a-z, 0-9, '-' and '_', beginning with a letter or digit")]
pub struct NameError {
    name: String,
}

fn check(text: &str) -> Result<(), NameError> {
    let shaped = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
    let begins_well = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    if shaped && begins_well && text.len() <= NAME_LENGTH_MAX {
        return Ok(());
    }
    Err(NameError { name: text.chars().take(80).collect() })
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The name as written.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                check(text).map(|()| Self(text.to_owned()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

name!(
    /// One configured way in: `/hooks/{source}`.
    SourceName
);
impl SourceName {
    /// The built-in source, which nobody configures and nobody posts to.
    pub const OUTBOX: &str = "outbox";

    /// The built-in source of what transactions have written into `oncehook.outbox`.
    #[must_use]
    pub fn outbox() -> Self {
        Self(Self::OUTBOX.to_owned())
    }
}

name!(
    /// One of those who may send commands to an `api` source; each has keys of its own.
    CallerName
);
name!(
    /// One rule: events of this source and type go to this destination.
    RouteName
);
name!(
    /// Where deliveries end.
    DestinationName
);
name!(
    /// What an operator's token is called: who did something, in the audit log.
    TokenName
);
impl TokenName {
    /// Who did something where `--no-auth` lets everybody in. No token may have this name.
    pub const ANYONE: &str = "anyone";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_lower_case_and_short_and_url_safe() {
        for good in ["github", "stripe-live", "a", "7up", "x_y"] {
            assert!(good.parse::<SourceName>().is_ok(), "{good}");
        }
        for bad in ["", "GitHub", "a b", "a/b", "-a", "é", "..", &"a".repeat(65)] {
            assert!(bad.parse::<SourceName>().is_err(), "{bad}");
        }
    }
}
