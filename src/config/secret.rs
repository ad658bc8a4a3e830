//! From a reference (`{ env = "X" }`, `{ file = "/run/secrets/x" }`, `{ generated = true }`) to a key that is fit for use.
//! It says what is wrong with a secret without ever showing a character of it.

use std::{io, path::Path};

use super::{
    environment::{Environment, Variable},
    error::Findings,
    generated::Plan,
    placeholder::is_placeholder,
    reader::Reader,
    schema::REFERENCE,
    tree::{Node, Value},
};
use crate::{domain::Secret, verify::Scheme};

/// No secret is larger: a larger file is the wrong file.
const FILE_BYTES_MAX: u64 = 4096;

/// What a reference leads to.
#[derive(Debug)]
pub(super) enum Resolved {
    /// A key.
    Ready(Secret),
    /// One that Oncehook has to make first.
    ToGenerate(Plan),
}

/// Resolves references.
#[derive(Debug)]
pub(super) struct Resolver<'a> {
    pub(super) environment: &'a Environment,
    pub(super) findings: &'a Findings,
    pub(super) data_dir: &'a Path,
}

/// Where a reference stands and what its secret is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Purpose<'a> {
    /// `source` or `destination`.
    pub(super) owner: &'static str,
    /// Its name; `orders.shop` for the caller `shop` of the source `orders`.
    pub(super) name: &'a str,
    pub(super) scheme: Scheme,
}

impl Resolver<'_> {
    /// The secret behind one reference. `None`: a mistake has been reported.
    pub(super) fn resolve(&self, node: &Node, path: &str, purpose: Purpose<'_>) -> Option<Resolved> {
        let (text, origin) = match self.text(node, path, Some(purpose))? {
            Text::Found { text, origin } => (text, origin),
            Text::ToGenerate(plan) => return Some(Resolved::ToGenerate(plan)),
        };
        match check(&text, purpose) {
            Ok((secret, warning)) => {
                if let Some(warning) = warning {
                    self.findings.warn(format!("{path}: the secret from {origin} {warning}"));
                }
                Some(Resolved::Ready(secret))
            }
            Err(Refusal { problem, instead }) => {
                self.findings.mistake(&node.place, path, format!("the secret from {origin} {problem}"), instead);
                None
            }
        }
    }

    /// The text behind a reference that is no key: a database's URL.
    pub(super) fn resolve_text(&self, node: &Node, path: &str) -> Option<String> {
        match self.text(node, path, None)? {
            Text::Found { text, .. } => Some(text),
            Text::ToGenerate(_) => None,
        }
    }

    fn text(&self, node: &Node, path: &str, purpose: Option<Purpose<'_>>) -> Option<Text> {
        let Value::Table(_) = node.value else {
            let problem = match node.value {
                Value::Text(_) => {
                    "is written out here: a secret does not belong into a configuration, where backups and commits spread it"
                }
                _ => "is no reference to a secret",
            };
            self.findings.mistake(&node.place, path, problem, HOW_TO_REFER);
            return None;
        };
        let reader = Reader::new(node, &REFERENCE, path.to_owned(), self.findings);
        let file = reader.text("file", "/run/secrets/github");
        let variable = reader.text("env", "GITHUB_WEBHOOK_SECRET");
        let generated = reader.flag("generated");
        let ways = [reader.has("file"), reader.has("env"), reader.has("generated")].iter().filter(|way| **way).count();
        reader.finish();
        if ways != 1 {
            let problem =
                if ways == 0 { "does not say where the secret is" } else { "says several ways to one secret" };
            self.findings.mistake(&node.place, path, problem, HOW_TO_REFER);
            return None;
        }
        let outcome = match (file, variable, generated, purpose) {
            (Some(file), ..) => {
                self.findings.read_from(Path::new(file));
                read_file(Path::new(file))
            }
            (_, Some(variable), ..) => self.read_variable(variable),
            (_, _, Some(true), Some(purpose)) => Plan::of(self.data_dir, purpose).look(),
            (_, _, Some(_), _) => Err(Refusal::of("`generated` does not fit here", HOW_TO_REFER)),
            // The value had the wrong type, which has been reported.
            _ => return None,
        };
        outcome.map_err(|Refusal { problem, instead }| self.findings.mistake(&node.place, path, problem, instead)).ok()
    }

    fn read_variable(&self, name: &str) -> Result<Text, Refusal> {
        self.findings.refer_to(name);
        let shaped = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
        match self.environment.get(name) {
            Variable::Text(text) => {
                Ok(Text::Found { text: text.to_owned(), origin: format!("the environment variable {name}") })
            }
            Variable::NotText => {
                Err(Refusal::of(format!("the environment variable {name} is not UTF-8"), "set it to plain text"))
            }
            // A name of another shape may be the secret itself, put into the wrong place: it is not repeated.
            Variable::Absent if !name.bytes().all(shaped) => Err(Refusal::of(
                "there is no environment variable of the name after `env`, and it does not look like one (it is not shown, in case it is the secret itself)",
                HOW_TO_REFER,
            )),
            Variable::Absent => {
                let near = self.environment.nearest_name(name);
                let instead = near.map_or_else(
                    || format!("set it before starting: export {name}=…"),
                    |near| format!("set {name}, or write {near}, which is set"),
                );
                Err(Refusal::of(format!("the environment variable {name} is not set"), instead))
            }
        }
    }
}

/// What a reference says to do.
const HOW_TO_REFER: &str = "write { env = \"NAME\" } with the name of an environment variable that holds it,\nor { file = \"/run/secrets/name\" } with a file that does, or { generated = true } to have one made";

/// A text, or the plan to make one.
pub(super) enum Text {
    Found { text: String, origin: String },
    ToGenerate(Plan),
}

/// Why a secret is not taken.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) problem: String,
    pub(super) instead: String,
}

impl Refusal {
    pub(super) fn of(problem: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { problem: problem.into(), instead: instead.into() }
    }
}

/// Reads a secret's file. One newline at its end is no part of the secret: editors and `echo` put it there.
pub(super) fn read_file(path: &Path) -> Result<Text, Refusal> {
    let shown = path.display().to_string();
    let named = if shown.contains('/') && !shown.contains("whsec_") {
        shown
    } else {
        "(not shown: it does not look like a path)".into()
    };
    let text = read_bounded(path).map_err(|error| {
        let instead = match error.kind() {
            io::ErrorKind::NotFound => {
                "make the file, or correct the path; a relative path begins at the working directory"
            }
            io::ErrorKind::PermissionDenied => "let the user that Oncehook runs as read it",
            _ => "give the path of a small text file that holds the secret and nothing else",
        };
        Refusal::of(format!("the secret file {named} cannot be read: {error}"), instead)
    })?;
    let trimmed = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    Ok(Text::Found { text: trimmed.to_owned(), origin: format!("the file {named}") })
}

fn read_bounded(path: &Path) -> io::Result<String> {
    let size = std::fs::metadata(path)?;
    if size.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    if size.len() > FILE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 4 KiB"));
    }
    std::fs::read_to_string(path)
}

/// Whether a text is fit to be a secret, and the key that it stands for. Beside the key: what should be seen although it works.
pub(super) fn check(text: &str, purpose: Purpose<'_>) -> Result<(Secret, Option<&'static str>), Refusal> {
    if text.is_empty() {
        return Err(Refusal::of("is empty", "give it the secret that the sender signs with"));
    }
    if text.trim() != text {
        return Err(Refusal::of(
            "begins or ends with whitespace, with which no signature would ever match",
            "set it again without spaces, tabs and line breaks around it",
        ));
    }
    if text.chars().any(|c| c.is_control() || c == '\u{feff}') {
        return Err(Refusal::of(
            "holds a line break or another control character",
            "give each secret a file or variable of its own, as plain text",
        ));
    }
    if is_placeholder(text) {
        return Err(Refusal::of(
            "is a placeholder or a publicly known example",
            "make one of your own: openssl rand -hex 32, and give it to the sender too",
        ));
    }
    let key = purpose.scheme.decode_key(text).map_err(|error| Refusal::of(error.to_string(), error.instead()))?;
    Ok((key, doubt(text, purpose.scheme)))
}

fn doubt(text: &str, scheme: Scheme) -> Option<&'static str> {
    let api_key = ["sk_", "rk_", "pk_"].iter().any(|prefix| text.starts_with(prefix));
    match scheme {
        Scheme::Stripe if api_key => {
            Some("is an API key of Stripe and does not look like whsec_…: use the endpoint's signing secret")
        }
        Scheme::Stripe if !text.starts_with("whsec_") => {
            Some("does not look like whsec_…: use the signing secret that Stripe shows for this endpoint")
        }
        _ => None,
    }
}
