//! What is wrong with a configuration: every mistake, each with its place and what to write instead. It never holds the
//! value of a secret.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use super::tree::Place;

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ConfigError {
    /// The absolute path of the file, or the environment variable, as a reader looks for it.
    pub file: String,
    /// The line, where there is one.
    pub line: Option<usize>,
    /// The key, from the top: `sources.github.tolerance`. Empty where the file as a whole is wrong.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What to write or do instead.
    pub instead: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, "\n  problem: {}", self.problem.replace('\n', "\n           "))?;
        write!(f, "\n  instead: {}", self.instead.replace('\n', "\n           "))
    }
}

/// All mistakes of one configuration, in the order of their lines. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl std::error::Error for ConfigErrors {}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => writeln!(f, "the configuration has a mistake")?,
            many => writeln!(f, "the configuration has {many} mistakes")?,
        }
        for error in &self.0 {
            write!(f, "\n{error}\n")?;
        }
        Ok(())
    }
}

/// Where the parts of the compiler put what they find, so that one mistake does not hide the next.
#[derive(Debug)]
pub(super) struct Findings {
    file: String,
    mistakes: RefCell<Vec<(Place, ConfigError)>>,
    warnings: RefCell<Vec<String>>,
    referenced: RefCell<BTreeSet<String>>,
    secret_files: RefCell<BTreeSet<PathBuf>>,
}

impl Findings {
    pub(super) fn of(file: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            mistakes: RefCell::default(),
            warnings: RefCell::default(),
            referenced: RefCell::default(),
            secret_files: RefCell::default(),
        }
    }

    pub(super) fn mistake(&self, place: &Place, key: &str, problem: impl Into<String>, instead: impl Into<String>) {
        let (file, line) = match place {
            Place::Line(line) => (self.file.clone(), Some(*line)),
            Place::File => (self.file.clone(), None),
            Place::Variable(name) => (format!("environment variable {name}"), None),
        };
        let error = ConfigError { file, line, key: key.into(), problem: problem.into(), instead: instead.into() };
        self.mistakes.borrow_mut().push((place.clone(), error));
    }

    pub(super) fn warn(&self, sentence: impl Into<String>) {
        self.warnings.borrow_mut().push(sentence.into());
    }

    /// Notes that a secret reference names this variable: then it is no misspelt setting, whatever it is called.
    pub(super) fn refer_to(&self, variable: &str) {
        self.referenced.borrow_mut().insert(variable.to_owned());
    }

    /// Notes that a secret was read from this file.
    pub(super) fn read_from(&self, file: &Path) {
        self.secret_files.borrow_mut().insert(file.to_owned());
    }

    /// The files that secrets were read from.
    pub(super) fn secret_files(&self) -> Vec<PathBuf> {
        self.secret_files.borrow().iter().cloned().collect()
    }

    /// The warnings, if there is no mistake.
    pub(super) fn conclude(self) -> Result<Vec<String>, ConfigErrors> {
        let referenced = self.referenced.into_inner();
        let mut errors: Vec<ConfigError> = self
            .mistakes
            .into_inner()
            .into_iter()
            .filter(|(place, _)| !matches!(place, Place::Variable(name) if referenced.contains(name)))
            .map(|(_, error)| error)
            .collect();
        if errors.is_empty() {
            return Ok(self.warnings.into_inner());
        }
        errors.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        Err(ConfigErrors(errors))
    }
}
