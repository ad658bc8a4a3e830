//! The environment as a value, and how its `ONCEHOOK_…` variables and `DATABASE_URL` are laid over the file. The process'
//! own environment is read here and nowhere else.

use std::{collections::BTreeMap, fmt};

use super::{
    error::Findings,
    schema::{self, Kind, Schema, TOP, nearest},
    tree::{Entries, Node, Place, Value, parse_value},
};

/// What every override begins with.
const PREFIX: &str = "ONCEHOOK_";

/// Variables with the prefix that are no settings: the command line reads them.
const OWN_VARIABLES: [&str; 6] =
    ["ONCEHOOK_CONFIG", "ONCEHOOK_LOG", "ONCEHOOK_LOG_FORMAT", "ONCEHOOK_URL", "ONCEHOOK_TOKEN", "ONCEHOOK_TOKEN_FILE"];

/// Names the safety that a negative control of the drill switches off. Without the feature it is an unknown setting.
#[cfg(feature = "sabotage")]
const SABOTAGE: &str = "ONCEHOOK_SABOTAGE";

/// The variables of a process. It prints their names, never their values.
#[derive(Clone, Default)]
pub struct Environment {
    /// `None`: the value is not UTF-8.
    variables: BTreeMap<String, Option<String>>,
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Self {
        Self { variables: variables.into_iter().map(|(name, value)| (name.into(), Some(value.into()))).collect() }
    }
}

/// What a variable is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Variable<'a> {
    Absent,
    NotText,
    Text(&'a str),
}

impl Environment {
    /// Those of this process, as they are now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment for settings")]
    pub fn of_process() -> Self {
        let of = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()))
        };
        Self { variables: std::env::vars_os().filter_map(of).collect() }
    }

    /// The safety that is to be switched off.
    #[cfg(feature = "sabotage")]
    pub(crate) fn sabotage(&self) -> Option<&str> {
        self.variables.get(SABOTAGE)?.as_deref()
    }

    pub(super) fn get(&self, name: &str) -> Variable<'_> {
        match self.variables.get(name) {
            None => Variable::Absent,
            Some(None) => Variable::NotText,
            Some(Some(text)) => Variable::Text(text),
        }
    }

    /// The variable of this name in another case, or nearly of this name.
    pub(super) fn nearest_name(&self, name: &str) -> Option<&str> {
        nearest(name, self.variables.keys().map(String::as_str))
    }

    /// Lays the overrides over what the file says.
    pub(super) fn overlay(&self, entries: &mut Entries, findings: &Findings) {
        // DATABASE_URL comes first, so that ONCEHOOK_DATABASE__URL replaces it.
        let conventional =
            self.variables.get_key_value("DATABASE_URL").map(|(name, value)| (name, value, "DATABASE__URL"));
        let ours = self.variables.iter().filter_map(|(name, value)| Some((name, value, name.strip_prefix(PREFIX)?)));
        for (name, value, path) in conventional.into_iter().chain(ours) {
            #[cfg(feature = "sabotage")]
            if name == SABOTAGE {
                continue;
            }
            if OWN_VARIABLES.contains(&name.as_str()) || is_of_kubernetes(path, value.as_deref()) {
                continue;
            }
            let over = Override { name, findings, place: Place::Variable(name.clone()) };
            let segments: Vec<String> = path.split("__").map(str::to_lowercase).collect();
            match value {
                None => over.refuse("is not UTF-8", "set it to plain text, or unset it"),
                Some(value) if value.is_empty() => {
                    over.refuse("is empty", "unset it to use the value of the file, or give it a value");
                }
                Some(value) => over.put(entries, &TOP, &segments, value),
            }
        }
    }
}

/// Kubernetes gives each pod variables for each Service; one that is called "oncehook" makes `ONCEHOOK_PORT` and more.
fn is_of_kubernetes(path: &str, value: Option<&str>) -> bool {
    let address = value.is_some_and(|v| ["tcp://", "udp://", "sctp://"].iter().any(|scheme| v.starts_with(scheme)));
    let service = format!("_{path}");
    service.ends_with("_SERVICE_HOST")
        || service.contains("_SERVICE_PORT")
        || (service.ends_with("_PORT") && address)
        || ["_TCP", "_UDP", "_SCTP"].iter().any(|p| service.contains("_PORT_") && service.contains(p))
}

/// One variable on its way to its place.
struct Override<'a> {
    name: &'a str,
    findings: &'a Findings,
    place: Place,
}

impl Override<'_> {
    fn refuse(&self, problem: &str, instead: &str) {
        self.findings.mistake(&self.place, "", problem, instead);
    }

    fn put(&self, entries: &mut Entries, schema: &'static Schema, segments: &[String], text: &str) {
        let [key, below @ ..] = segments else { return };
        match (schema.kind_of(key), below) {
            (None, _) => self.refuse("is not a setting", &self.suggest(schema, key)),
            (Some(Kind::Rules(_)), _) => {
                self.refuse("cannot be set by a variable: routes are a list", "write the routes in the file");
            }
            (Some(Kind::Table(inner)), [_, ..]) => {
                if let Some(table) = self.table_in(entries, key) {
                    self.put(table, inner, below, text);
                }
            }
            (Some(Kind::Named(inner)), [name, rest @ ..]) if !rest.is_empty() => {
                if let Some(table) = self.table_in(entries, key)
                    && let Some(name) = self.name_in(table, name)
                    && let Some(table) = self.table_in(table, &name)
                {
                    self.put(table, inner, rest, text);
                }
            }
            (Some(kind), []) => {
                if let Some(node) = self.node(kind, text) {
                    entries.insert(key.clone(), node);
                }
            }
            (Some(_), _) => {
                let example = "write the table, two underscores, the key: ONCEHOOK_INTAKE__LISTEN, ONCEHOOK_SOURCES__GITHUB__TOLERANCE";
                self.refuse("does not name a setting", example);
            }
        }
    }

    /// The table at a key, made where there is none.
    fn table_in<'t>(&self, entries: &'t mut Entries, key: &str) -> Option<&'t mut Entries> {
        let empty = || Node { value: Value::Table(Entries::new()), place: self.place.clone() };
        match &mut entries.entry(key.to_owned()).or_insert_with(empty).value {
            Value::Table(table) => Some(table),
            // The reader says what is wrong with it.
            _ => None,
        }
    }

    /// The name in the file that a variable means: `MY_SOURCE` is `my_source` or `my-source`.
    fn name_in(&self, table: &Entries, name: &str) -> Option<String> {
        let fold = |name: &str| name.to_lowercase().replace('-', "_");
        let meant: Vec<&String> = table.keys().filter(|key| fold(key) == name).collect();
        match meant.as_slice() {
            [] => Some(name.to_owned()),
            [one] => Some((*one).clone()),
            [first, second, ..] => {
                let problem = format!("could mean `{first}` or `{second}`");
                self.refuse(&problem, "write the value in the file, or rename one of the two");
                None
            }
        }
    }

    fn node(&self, kind: Kind, text: &str) -> Option<Node> {
        let place = self.place.clone();
        let value = match kind {
            Kind::Text | Kind::Duration | Kind::Size => Value::Text(text.to_owned()),
            // A reference is a TOML table in braces; anything else is the text itself.
            Kind::TextOrReference if !text.starts_with('{') => Value::Text(text.to_owned()),
            Kind::Integer => match text.parse() {
                Ok(number) => Value::Integer(Some(number)),
                Err(_) => return self.unfit("a whole number", "write digits only, such as 300"),
            },
            Kind::Flag => match text {
                "true" => Value::Flag(true),
                "false" => Value::Flag(false),
                _ => return self.unfit("true or false", "write true or false, in small letters"),
            },
            Kind::List => match parse_value(text, &place).map(|node| node.value) {
                Some(list @ Value::List(_)) => list,
                _ => {
                    return self.unfit(
                        "a list",
                        "write it as in the file: [{ env = \"NAME\" }] for secrets, [\"a\", \"b\"] for texts",
                    );
                }
            },
            Kind::Reference
            | Kind::TextOrReference
            | Kind::Texts
            | Kind::Table(_)
            | Kind::Named(_)
            | Kind::Rules(_) => match parse_value(text, &place).map(|node| node.value) {
                Some(table @ Value::Table(_)) => table,
                _ => {
                    return self
                        .unfit("a table", "write it as in the file: { env = \"NAME\" }, or set its keys one by one");
                }
            },
        };
        Some(Node { value, place })
    }

    /// The value is not shown: it may be a secret that stands in the wrong place.
    fn unfit(&self, expected: &str, instead: &str) -> Option<Node> {
        self.refuse(&format!("does not hold {expected}"), instead);
        None
    }

    fn suggest(&self, schema: &'static Schema, key: &str) -> String {
        let known = schema::variable_names();
        let ending = format!("__{}", key.to_uppercase());
        let misplaced: Vec<&str> = known.iter().filter(|name| name.ends_with(&ending)).map(String::as_str).collect();
        if !misplaced.is_empty() {
            return format!("did you mean {}?", misplaced.join(" or "));
        }
        match nearest(self.name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("{}; in a variable, two underscores stand for each dot", schema.suggest(key)),
        }
    }
}
