//! The invariants of DESIGN.md section 5, held by reading the sources.

use std::{
    fs,
    path::{Path, PathBuf},
};

const FILE_LINES_MAX: usize = 300;

/// One source file, with comments and test modules at its end cut off for the checks of what code may do.
struct Source {
    path: String,
    lines: Vec<String>,
}

impl Source {
    /// Lines of code: no comments, and nothing from `#[cfg(test)]` on, which is last in a file.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines
            .iter()
            .enumerate()
            .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
            .map(|(number, line)| (number + 1, line.split("//").next().unwrap_or_default()))
    }

    fn is_under(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path.starts_with(place))
    }
}

fn sources(below: &str) -> Vec<Source> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    walk(&root.join(below), &mut found);
    found.sort();
    assert!(found.len() > 5, "the sources below {below} were not found");
    found
        .into_iter()
        .map(|path| Source {
            lines: fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect(),
            path: path.strip_prefix(root).unwrap().to_string_lossy().into_owned(),
        })
        .collect()
}

/// Fails with each place where one of `words` stands outside of `allowed`.
fn assert_only_in(words: &[&str], allowed: &[&str], why: &str) {
    let found: Vec<String> = sources("src")
        .iter()
        .filter(|source| !source.is_under(allowed) && !is_test(source))
        .flat_map(|source| {
            let path = source.path.clone();
            source
                .code()
                .filter(|(_, code)| words.iter().any(|word| code.contains(word)))
                .map(move |(number, code)| format!("{path}:{number}: {}", code.trim()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "{why}:\n{}", found.join("\n"));
}

fn is_test(source: &Source) -> bool {
    source.path.contains("/tests/") || source.path.ends_with("/tests.rs")
}

#[test]
fn no_file_is_longer_than_300_lines() {
    let long: Vec<String> = ["src", "tests", "benches", "examples"]
        .iter()
        .filter(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("it").exists() || **folder == "src")
        .flat_map(|folder| sources(folder))
        .filter(|source| source.lines.len() > FILE_LINES_MAX)
        .map(|source| format!("{}: {} lines", source.path, source.lines.len()))
        .collect();
    assert!(long.is_empty(), "split these along a noun:\n{}", long.join("\n"));
}

#[test]
fn every_file_begins_by_saying_what_it_is() {
    let silent: Vec<String> = sources("src")
        .into_iter()
        .chain(sources("tests"))
        .filter(|source| !source.lines.first().is_some_and(|line| line.starts_with("//! ")))
        .map(|source| source.path)
        .collect();
    assert!(silent.is_empty(), "no //! on the first line of:\n{}", silent.join("\n"));
}

#[test]
fn no_module_is_named_for_nothing() {
    let nameless = ["utils", "util", "helpers", "helper", "common", "manager", "service", "misc"];
    let found: Vec<String> = sources("src")
        .into_iter()
        .chain(sources("tests"))
        .map(|source| source.path)
        .filter(|path| {
            Path::new(path)
                .iter()
                .any(|part| nameless.iter().any(|name| part.to_string_lossy().trim_end_matches(".rs") == *name))
        })
        .collect();
    assert!(found.is_empty(), "name these for what they do:\n{}", found.join("\n"));
}

#[test]
fn sql_is_only_under_store() {
    let words = ["sqlx::query", "query!(", "query_as!(", "query_scalar!(", "query_file"];
    assert_only_in(&words, &["src/store/", "src/drill/"], "SQL belongs under src/store/");
}

#[test]
fn actix_is_only_in_intake_and_admin() {
    assert_only_in(
        &["actix_web", "use actix", "actix::"],
        &["src/intake/", "src/admin/"],
        "actix belongs into intake/ and admin/",
    );
}

#[test]
fn apalis_is_only_in_run_and_in_the_migration() {
    assert_only_in(
        &["apalis_postgres::", "apalis_core::", "apalis::prelude", "use apalis"],
        &["src/run/", "src/store/migrate.rs"],
        "apalis belongs into run/",
    );
}

#[test]
fn outgoing_network_is_only_in_deliver_and_send() {
    assert_only_in(
        &["reqwest", "TcpStream::connect", "Command::new"],
        &["src/deliver/", "src/cli/", "src/postgres/", "src/drill/"],
        "outgoing network and processes belong into deliver/",
    );
}

#[test]
fn the_environment_is_only_read_in_config() {
    assert_only_in(
        &["std::env", "env::var"],
        &["src/config/", "src/postgres/", "src/cli/", "src/drill/"],
        "the environment is read in config/",
    );
}

#[test]
fn the_wall_clock_is_only_read_in_clock() {
    assert_only_in(&["Utc::now", "SystemTime::now"], &["src/clock.rs"], "take the time from clock::Clock");
}

#[test]
fn the_pure_steps_do_no_io_and_read_no_clock() {
    let impure =
        ["sqlx", "tokio::", "std::fs", "std::net", "std::process", "Instant::now", "actix", "reqwest", "Clock"];
    let found: Vec<String> = sources("src")
        .iter()
        .filter(|source| {
            source.is_under(&["src/verify/", "src/provider/", "src/route", "src/domain/", "src/run/retry.rs"])
        })
        .filter(|source| !is_test(source))
        .flat_map(|source| {
            source
                .code()
                .filter(|(_, code)| impure.iter().any(|word| code.contains(word)))
                .map(|(number, code)| format!("{}:{number}: {}", source.path, code.trim()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "these steps are pure:\n{}", found.join("\n"));
}

/// What takes a promise away must not even be compiled into a build without the feature.
#[test]
fn sabotage_is_compiled_in_with_its_feature_only() {
    let gate = "#[cfg(feature = \"sabotage\")]";
    let mut hooks = 0;
    for source in sources("src").iter().filter(|source| !source.is_under(&["src/sabotage.rs", "src/drill/"])) {
        for (number, code) in source.code().filter(|(_, code)| code.to_lowercase().contains("sabotage")) {
            if code.trim() == gate {
                continue;
            }
            hooks += 1;
            // Directly above, or above the block that begins here.
            let above = (1..=3).filter_map(|up| source.lines.get((number - 1).checked_sub(up)?));
            assert!(above.into_iter().any(|line| line.trim() == gate), "{}:{number}: {}", source.path, code.trim());
        }
    }
    assert!(hooks >= 7, "the hooks were not found");
    let sources = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sabotage.rs")).unwrap();
    let refusal = sources.split("#[cfg(not(debug_assertions))]").nth(1).expect("it is refused in release builds");
    assert!(refusal.trim_start().starts_with("compile_error!("), "{refusal}");
}

#[test]
fn tests_do_not_sleep() {
    let word = ["::", "sleep("].concat();
    let found: Vec<String> = sources("tests")
        .iter()
        .flat_map(|source| {
            source
                .code()
                .filter(|(_, code)| code.contains(&word))
                .map(|(number, _)| format!("{}:{number}", source.path))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "drain by hand, move the clock, wait for an event:\n{}", found.join("\n"));
}

#[test]
fn timestamps_in_the_schema_have_a_zone() {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations")).unwrap() {
        let path = entry.unwrap().path();
        let sql = fs::read_to_string(&path).unwrap();
        for line in sql.lines().map(|line| line.split("--").next().unwrap_or_default()) {
            let naked = line.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "timestamp");
            assert!(!naked, "{}: {line}: use timestamptz", path.display());
        }
    }
}

/// A promise whose test was renamed away is a promise that nobody proves.
#[test]
fn each_test_that_the_readme_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let code: String = sources("tests").iter().chain(&sources("src")).flat_map(|source| source.lines.clone()).collect();
    let names: Vec<&str> = readme
        .lines()
        .filter(|line| line.starts_with("| P"))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|name| name.contains('_') && !name.contains(' '))
        .collect();
    assert!(names.len() >= 8, "the table of promises was not found");
    let missing: Vec<&&str> = names.iter().filter(|name| !code.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "README names tests that are not there: {missing:?}");
}
