//! [destinations.NAME] of kind "command": the program, its arguments and what it may see. It checks what can be known
//! without starting it.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use secrecy::SecretString;

use super::{
    reader::Reader,
    secret::Resolver,
    tree::{Node, Value},
};

/// A program that runs once for each attempt. No shell reads any of it.
#[derive(Debug, Clone)]
pub struct CommandDestination {
    /// The program's absolute path.
    pub program: PathBuf,
    /// Its arguments, handed over as they are.
    pub arguments: Vec<String>,
    /// Where it runs.
    pub directory: PathBuf,
    /// What it sees beside `PATH` and `ONCEHOOK_…`. The values may be secrets.
    pub environment: BTreeMap<String, SecretString>,
    /// Time for all of an attempt, after which it is killed with all that it started.
    pub timeout: Duration,
    /// Exits with which trying again does not help: a dead letter at once.
    pub reject_exits: Vec<u8>,
}

/// The keys that only a command has.
pub(super) const COMMAND_KEYS: [&str; 4] = ["command", "directory", "environment", "reject_exits"];

/// What a command reads of us begins with this.
const OWN_PREFIX: &str = "ONCEHOOK_";

/// The exit that always means "try again".
const TEMPORARY: i64 = 75;

/// The settings of a command. `None`: its program is wrong, which has been reported. `is_allowed`: whether the file says
/// `allow_commands = true`.
pub(super) fn command(table: &Reader<'_>, resolver: &Resolver<'_>, is_allowed: bool) -> Option<CommandDestination> {
    if !is_allowed {
        table.mistake(
            "kind",
            "is \"command\", and this configuration does not allow commands: they run as Oncehook's own user",
            "write allow_commands = true at the top of the file, before the first [table], if that is meant",
        );
    }
    let (least, most) = (Duration::from_millis(10), Duration::from_secs(3_600));
    let timeout = table.duration("timeout", Duration::from_secs(60), least..=most);
    let directory = table.text("directory", "/srv/mailer").unwrap_or("/");
    if !is_usable_path(directory) {
        table.mistake("directory", "is no absolute path", "write the whole path of a folder, such as \"/srv/mailer\"");
    } else if !Path::new(directory).is_dir() {
        let path = table.path_of("directory");
        table
            .findings
            .warn(format!("{path}: there is no folder {directory:?} yet: without it the command cannot start"));
    }
    let (environment, reject_exits) = (environment(table, resolver), reject_exits(table));
    let mut argv = argv(table)?.into_iter();
    Some(CommandDestination {
        program: argv.next()?.into(),
        arguments: argv.collect(),
        directory: directory.into(),
        environment,
        timeout,
        reject_exits,
    })
}

fn is_usable_path(text: &str) -> bool {
    Path::new(text).is_absolute() && !text.contains('\0')
}

/// The program and its arguments. The program may come later than the configuration, so that its absence is a warning.
fn argv(table: &Reader<'_>) -> Option<Vec<String>> {
    const EXAMPLE: &str = "[\"/usr/local/bin/mailer\", \"--stdin\"]";
    let instead = format!("write the program's whole path and its arguments, such as {EXAMPLE}");
    if !table.has("command") {
        table.mistake("command", "is missing", &*instead);
    }
    let mut argv = Vec::new();
    let items = table.list("command", EXAMPLE)?;
    let length = items.len();
    for (path, node) in items {
        match &node.value {
            Value::Text(text) if !text.contains('\0') => argv.push(text.clone()),
            Value::Text(_) => {
                table.findings.mistake(&node.place, &path, "holds a NUL, which no argument can", "remove it");
            }
            other => {
                let problem = format!("is {}, where a text is expected", other.type_name());
                table.findings.mistake(&node.place, &path, problem, "write each argument as a text in quotes");
            }
        }
    }
    let program = match argv.first() {
        _ if argv.len() < length => return None,
        Some(program) if is_usable_path(program) => program,
        Some(program) => {
            let problem = format!("begins with {program:?}, which is no absolute path");
            table.mistake("command", problem, format!("{instead}; no shell reads it, and PATH is not searched"));
            return None;
        }
        None => {
            table.mistake("command", "is empty", instead);
            return None;
        }
    };
    if let Some(doubt) = doubt(Path::new(program)) {
        let path = table.path_of("command");
        table.findings.warn(format!(
            "{path}: {program:?} {doubt}: until that is mended, its deliveries wait and are tried again"
        ));
    }
    Some(argv)
}

fn doubt(program: &Path) -> Option<&'static str> {
    match fs::metadata(program) {
        Ok(file) if file.is_dir() => Some("is a folder"),
        Ok(file) if file.permissions().mode() & 0o111 == 0 => Some("may not be executed by anybody"),
        Ok(_) => None,
        Err(_) => Some("is not there, or cannot be looked at"),
    }
}

/// Variables for the command. Values may be references, so that a token stays out of the file.
fn environment(table: &Reader<'_>, resolver: &Resolver<'_>) -> BTreeMap<String, SecretString> {
    const EXAMPLE: &str = "{ LANG = \"C.UTF-8\", TOKEN = { env = \"MAILER_TOKEN\" } }";
    let mut variables = BTreeMap::new();
    let Some(node) = table.node("environment") else { return variables };
    let Value::Table(entries) = &node.value else {
        let problem = format!("is {}, where a table is expected", node.value.type_name());
        table.mistake("environment", problem, format!("write {EXAMPLE}"));
        return variables;
    };
    for (name, node) in entries {
        let path = format!("{}.{name}", table.path_of("environment"));
        let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !name.is_empty();
        if !is_name || name.starts_with(|first: char| first.is_ascii_digit()) {
            let instead = "use letters, digits and '_', beginning with a letter";
            table.findings.mistake(&node.place, &path, "is no name of a variable", instead);
        } else if name.starts_with(OWN_PREFIX) {
            let instead = "choose another name: ONCEHOOK_… tells the command about its delivery";
            table.findings.mistake(&node.place, &path, "is a name that Oncehook sets itself", instead);
        } else if let Some(value) = value(node, &path, resolver) {
            variables.insert(name.clone(), value);
        }
    }
    variables
}

fn value(node: &Node, path: &str, resolver: &Resolver<'_>) -> Option<SecretString> {
    let text = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Table(_) => resolver.resolve_text(node, path)?,
        other => {
            let problem = format!("is {}, where a text is expected", other.type_name());
            let instead = "write a text in quotes, or { env = \"NAME\" }, or { file = \"/run/secrets/name\" }";
            resolver.findings.mistake(&node.place, path, problem, instead);
            return None;
        }
    };
    if text.contains('\0') {
        resolver.findings.mistake(&node.place, path, "holds a NUL, which no variable can", "give it plain text");
        return None;
    }
    Some(text.into())
}

fn reject_exits(table: &Reader<'_>) -> Vec<u8> {
    let mut exits = Vec::new();
    for (path, node) in table.list("reject_exits", "[65]").unwrap_or_default() {
        let problem = match node.value {
            Value::Integer(Some(0)) => "is 0, with which a command says that it is done",
            Value::Integer(Some(TEMPORARY)) => "is 75, with which a command asks to be tried again",
            Value::Integer(Some(number)) if (1..=255).contains(&number) => {
                exits.extend(u8::try_from(number));
                continue;
            }
            _ => "is no exit code",
        };
        let instead = "write whole numbers from 1 to 255, but not 75";
        table.findings.mistake(&node.place, &path, problem, instead);
    }
    exits
}
