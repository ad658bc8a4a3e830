//! Which keys there are, in which table, of which type: what an unknown key is compared with, and how a variable of the
//! environment becomes a value. It holds no defaults and reads nothing.

/// The type of a key's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A string.
    Text,
    /// A string with a unit of time.
    Duration,
    /// A string with a unit of size.
    Size,
    /// A whole number.
    Integer,
    /// true or false.
    Flag,
    /// A list of values.
    List,
    /// A reference to a secret.
    Reference,
    /// A string, or a reference to one.
    TextOrReference,
    /// A table of strings, or references to them, by names that the operator chose.
    Texts,
    /// One table with these keys.
    Table(&'static Schema),
    /// Tables by names that the operator chose.
    Named(&'static Schema),
    /// A list of tables.
    Rules(&'static Schema),
}

/// One table: its heading as a reader writes it, and its keys.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) heading: &'static str,
    pub(super) keys: &'static [(&'static str, Kind)],
}

use Kind::{Duration, Flag, Integer, List, Named, Reference, Rules, Size, Table, Text, TextOrReference, Texts};

pub(super) static TOP: Schema = Schema {
    heading: "",
    keys: &[
        ("data_dir", Text),
        ("allow_commands", Flag),
        ("database", Table(&DATABASE)),
        ("intake", Table(&INTAKE)),
        ("admin", Table(&ADMIN)),
        ("record", Table(&RECORD)),
        ("run", Table(&RUN)),
        ("shutdown", Table(&SHUTDOWN)),
        ("sources", Named(&SOURCE)),
        ("destinations", Named(&DESTINATION)),
        ("routes", Rules(&ROUTE)),
    ],
};

static DATABASE: Schema = Schema {
    heading: "[database]",
    keys: &[("url", TextOrReference), ("connections_max", Integer), ("acquire_timeout", Duration)],
};

static INTAKE: Schema = Schema {
    heading: "[intake]",
    keys: &[
        ("listen", Text),
        ("threads", Integer),
        ("connections_max", Integer),
        ("in_flight_bytes_max", Size),
        ("body_timeout", Duration),
        ("body_rate_min", Size),
        ("body_grace", Duration),
        ("header_bytes_max", Size),
        ("record_timeout", Duration),
    ],
};

static ADMIN: Schema = Schema {
    heading: "[admin]",
    keys: &[
        ("listen", Text),
        ("public_url", Text),
        ("session_idle", Duration),
        ("session_max", Duration),
        ("tokens", Named(&TOKEN)),
    ],
};

static TOKEN: Schema = Schema { heading: "[admin.tokens.NAME]", keys: &[("role", Text), ("secret", Reference)] };

static RECORD: Schema = Schema {
    heading: "[record]",
    keys: &[("batch_rows_max", Integer), ("batch_bytes_max", Size), ("queue_max", Integer), ("arrivals_kept", Integer)],
};

static RUN: Schema = Schema {
    heading: "[run]",
    keys: &[
        ("concurrency", Integer),
        ("lease", Duration),
        ("heartbeat", Duration),
        ("lane_budget", Integer),
        ("lane_budget_time", Duration),
        ("poll", Duration),
        ("rescue", Duration),
        ("crashes_max", Integer),
    ],
};

static SHUTDOWN: Schema = Schema { heading: "[shutdown]", keys: &[("grace", Duration)] };

static SOURCE: Schema = Schema {
    heading: "[sources.NAME]",
    keys: &[
        ("provider", Text),
        ("secrets", List),
        ("callers", Named(&CALLER)),
        ("allow_unsigned", Flag),
        ("tolerance", Duration),
        ("body_bytes_max", Size),
        ("dedupe", Text),
        ("on_conflict", Integer),
        ("replay_guard", Text),
    ],
};

static CALLER: Schema = Schema { heading: "[sources.NAME.callers.NAME]", keys: &[("secrets", List)] };

static DESTINATION: Schema = Schema {
    heading: "[destinations.NAME]",
    keys: &[
        ("kind", Text),
        ("concurrency", Integer),
        ("rate_limit", Text),
        ("url", Text),
        ("connect_timeout", Duration),
        ("first_byte_timeout", Duration),
        ("timeout", Duration),
        ("secret", Reference),
        ("retry_statuses", List),
        ("function", Text),
        ("role", Text),
        ("search_path", Text),
        ("command", List),
        ("directory", Text),
        ("environment", Texts),
        ("reject_exits", List),
    ],
};

static ROUTE: Schema = Schema {
    heading: "[[routes]]",
    keys: &[
        ("name", Text),
        ("source", Text),
        ("events", List),
        ("filter", Text),
        ("order", Text),
        ("ordering_key", Text),
        ("on_stale", Text),
        ("reorder_window", Duration),
        ("on_dead", Text),
        ("on_dead_destination", Text),
        ("concurrency", Integer),
        ("destination", Text),
        ("retry", Table(&RETRY)),
    ],
};

static RETRY: Schema = Schema {
    heading: "retry = { … } of [[routes]]",
    keys: &[("attempts", Integer), ("initial", Duration), ("max", Duration)],
};

/// A reference to a secret, wherever one stands.
pub(super) static REFERENCE: Schema =
    Schema { heading: "a secret reference", keys: &[("env", Text), ("file", Text), ("generated", Flag)] };

impl Schema {
    /// The type of one of its keys.
    pub(super) fn kind_of(&self, key: &str) -> Option<Kind> {
        self.keys.iter().find(|(name, _)| *name == key).map(|(_, kind)| *kind)
    }

    /// Itself and every table below it, from the top down.
    pub(super) fn tables(&'static self) -> Vec<&'static Schema> {
        let below = self.keys.iter().filter_map(|(_, kind)| match kind {
            Table(schema) | Named(schema) | Rules(schema) => Some(schema.tables()),
            _ => None,
        });
        std::iter::once(self).chain(below.flatten()).collect()
    }

    /// What to write instead of a key that this table does not have.
    pub(super) fn suggest(&'static self, unknown: &str) -> String {
        if let Some(near) = nearest(unknown, self.keys.iter().map(|(name, _)| *name)) {
            return format!("did you mean `{near}`?");
        }
        let tables = TOP.tables();
        let homes: Vec<&str> = tables.iter().filter(|t| t.kind_of(unknown).is_some()).map(|t| t.place()).collect();
        if !homes.is_empty() {
            return format!("`{unknown}` belongs in {}: move it there", homes.join(" or "));
        }
        for table in tables {
            if let Some(near) = nearest(unknown, table.keys.iter().map(|(name, _)| *name)) {
                return format!("did you mean `{near}`, which belongs in {}?", table.place());
            }
        }
        let names: Vec<String> = self.keys.iter().map(|(name, _)| format!("`{name}`")).collect();
        format!("remove it; the keys of {} are {}", self.place(), names.join(", "))
    }

    /// Its heading, for the middle of a sentence.
    pub(super) fn place(&self) -> &'static str {
        if self.heading.is_empty() { "the top of the file, before the first [table]" } else { self.heading }
    }
}

/// The name that a misspelt one was probably meant to be: at most a third of its letters are wrong.
pub(crate) fn nearest<'a>(misspelt: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |name: &str| name.to_lowercase().replace('-', "_");
    let folded = fold(misspelt);
    names
        .map(|name| (strsim::damerau_levenshtein(&folded, &fold(name)), name))
        .filter(|(distance, name)| *distance <= (name.chars().count().max(folded.chars().count()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Every setting that a variable of the environment can set without naming a source or a destination.
pub(super) fn variable_names() -> Vec<String> {
    let mut names = Vec::new();
    for (key, kind) in TOP.keys {
        match kind {
            Table(schema) => {
                let inner = schema.keys.iter().map(|(name, _)| format!("ONCEHOOK_{key}__{name}").to_uppercase());
                names.extend(inner);
            }
            Named(_) | Rules(_) => {}
            _ => names.push(format!("ONCEHOOK_{key}").to_uppercase()),
        }
    }
    names
}
