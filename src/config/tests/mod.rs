//! Tests of the configuration as a whole: text and environment in, configuration or mistakes out.

mod callers;
mod commands;
mod documented;
mod lanes;
mod mistakes;
mod places;
mod rates;
mod secrets;
mod sql;
mod tokens;

use std::path::PathBuf;

use super::*;

/// A file of its own, and an environment of its own.
struct Case {
    folder: tempfile::TempDir,
    options: LoadOptions,
}

/// A secret that must never be shown.
const CANARY: &str = "canary-f3a9c1d07e5b42861f00";

/// The smallest good configuration.
const SMALL: &str = r#"
[sources.github]
provider = "github"
secrets = [{ env = "GITHUB_WEBHOOK_SECRET" }]

[destinations.demo]
kind = "log"

[[routes]]
name = "all"
source = "github"
events = ["*"]
destination = "demo"
"#;

impl Case {
    fn new(text: &str, variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("oncehook.toml");
        std::fs::write(&file, text).unwrap();
        let data_dir = folder.path().join("data").display().to_string();
        let ours = [("GITHUB_WEBHOOK_SECRET", CANARY), ("ONCEHOOK_DATA_DIR", data_dir.as_str())];
        let environment = ours.iter().chain(variables).copied().collect();
        Self { folder, options: LoadOptions { file: Some(file), environment, may_generate: false } }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn load(&self) -> Result<Loaded, ConfigErrors> {
        load(&self.options)
    }

    /// The mistakes, with FOLDER in the place of the test's own.
    fn mistakes(&self) -> String {
        let errors = self.load().expect_err("there is a mistake in it");
        errors.to_string().replace(&self.folder.path().display().to_string(), "FOLDER")
    }
}

/// The mistakes of `SMALL` with one text in the place of another.
fn mistakes_with(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from}");
    Case::new(&SMALL.replace(from, to), &[]).mistakes()
}

/// The mistakes of `SMALL` with lines before it.
fn mistakes_after(lines: &str) -> String {
    Case::new(&format!("{lines}{SMALL}"), &[]).mistakes()
}
