//! Which file is the configuration, and its text. A file that was asked for must be there; only without one are the usual
//! places tried, and then the configuration that is shipped inside the program.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use super::{error::Findings, tree::Place};

/// The configuration that a program without a file runs on.
pub(super) const SHIPPED: &str = include_str!("../../config/oncehook.toml");

/// Where to look without `--config`, first to last.
pub const USUAL_PLACES: [&str; 2] = ["config/oncehook.toml", "/etc/oncehook/oncehook.toml"];

/// No configuration is larger: a larger file is the wrong file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Where the configuration came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// This file, by its absolute path.
    File(PathBuf),
    /// The one inside the program.
    Shipped,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Shipped => f.write_str("the configuration shipped inside oncehook"),
        }
    }
}

/// Finds the configuration and reads it, or tells what stands in the way.
pub(super) fn locate(asked_for: Option<&Path>, places: &[PathBuf]) -> (Origin, Result<String, Findings>) {
    if let Some(path) = asked_for {
        let path = absolute(path);
        let text = read(&path).map_err(|obstacle| obstacle.at(&path));
        return (Origin::File(path), text);
    }
    for path in places.iter().map(|path| absolute(path)) {
        match read(&path) {
            Err(Obstacle { kind: io::ErrorKind::NotFound, .. }) => {}
            other => {
                let text = other.map_err(|obstacle| obstacle.at(&path));
                return (Origin::File(path), text);
            }
        }
    }
    (Origin::Shipped, Ok(SHIPPED.to_owned()))
}

struct Obstacle {
    kind: io::ErrorKind,
    problem: String,
    instead: &'static str,
}

impl Obstacle {
    fn at(self, path: &Path) -> Findings {
        let findings = Findings::of(path.display().to_string());
        findings.mistake(&Place::File, "", self.problem, self.instead);
        findings
    }
}

fn read(path: &Path) -> Result<String, Obstacle> {
    let obstacle = |error: &io::Error| {
        let instead = match error.kind() {
            io::ErrorKind::NotFound => "correct the path, or leave --config out to use config/oncehook.toml",
            io::ErrorKind::PermissionDenied => "let the user that Oncehook runs as read it",
            _ => "give the path of a text file in TOML",
        };
        Obstacle { kind: error.kind(), problem: format!("cannot be read: {error}"), instead }
    };
    let refuse =
        |problem: &str, instead| Obstacle { kind: io::ErrorKind::InvalidData, problem: problem.into(), instead };
    let metadata = fs::metadata(path).map_err(|error| obstacle(&error))?;
    if metadata.is_dir() {
        return Err(refuse("is a directory", "give the file in it, such as oncehook.toml"));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(refuse("is larger than 1 MiB, so it is no configuration", "give the path of a text file in TOML"));
    }
    let text = fs::read_to_string(path).map_err(|error| obstacle(&error))?;
    if text.trim().is_empty() {
        return Err(refuse("is empty", "fill it, for example from the shipped config/oncehook.toml, or remove it"));
    }
    Ok(text)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}
