//! config/oncehook.toml says what is true, and no key in it can be misspelt or misplaced without being noticed.

use super::super::{
    locate::SHIPPED,
    schema::{Schema, TOP},
};
use super::*;

/// What `# key = value` lines are once somebody has taken the `# ` away.
fn uncommented(text: &str) -> String {
    let is_setting = |line: &str| {
        let key = line.split_once(" = ").map(|(key, _)| key);
        key.is_some_and(|key| !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
    };
    let line = |line: &str| match line.strip_prefix("# ") {
        Some(setting) if is_setting(setting) => format!("{setting}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Every key there is, once at least.
fn complete() -> String {
    let text = uncommented(SHIPPED)
        .replace("[database]", "[database]\nurl = \"postgres://localhost/x\"")
        .replace("[admin]", "[admin]\npublic_url = \"https://example.com\"")
        .replace("allow_commands = false", "allow_commands = true");
    format!(
        r#"{text}
filter = 'payload.ref == "refs/heads/main"'
[[routes]]
name = "strict"
source = "github"
events = ["*"]
order = "event"
destination = "service"
ordering_key = "/repository/id"
on_stale = "deliver"
reorder_window = "3s"
on_dead = "block"
on_dead_destination = "demo"
concurrency = 8
[destinations.service]
kind = "http"
concurrency = 4
rate_limit = "50/s"
url = "https://example.com/hooks"
connect_timeout = "5s"
first_byte_timeout = "10s"
timeout = "30s"
secret = {{ generated = true }}
retry_statuses = [404]
[destinations.mailer]
kind = "command"
command = ["/bin/true", "--stdin"]
directory = "/"
environment = {{ LANG = "C.UTF-8" }}
timeout = "60s"
reject_exits = [65]
[destinations.billing]
kind = "sql"
function = "billing.on_event"
role = "billing_writer"
search_path = "billing"
timeout = "30s"
[destinations.books]
kind = "handler"
timeout = "30s"
[sources.standard]
provider = "standard_webhooks"
secrets = [{{ generated = true }}]
[admin.tokens.program]
role = "read"
secret = {{ env = "GITHUB_WEBHOOK_SECRET" }}
"#
    )
}

fn shown(text: &str) -> String {
    let case = Case::new(text, &[]);
    let config = case.load().unwrap_or_else(|errors| panic!("{errors}")).config;
    format!("{config:?}").replace(&case.folder.path().display().to_string(), "FOLDER")
}

/// The table that each line of a TOML text belongs to: the line of its heading.
fn headings(lines: &[&str]) -> Vec<Option<usize>> {
    let mut current = None;
    let heading_of = |(n, line): (usize, &&str)| {
        if line.starts_with('[') {
            current = Some(n);
        }
        current
    };
    lines.iter().enumerate().map(heading_of).collect()
}

fn key_of(line: &str) -> Option<&str> {
    line.split_once('=').map(|(key, _)| key.trim()).filter(|_| !line.starts_with(['#', '[']))
}

fn schema_of(heading: Option<&str>) -> &'static Schema {
    let Some(heading) = heading else { return &TOP };
    let first = heading.trim_matches(['[', ']']).split('.').next().unwrap();
    let matches = |table: &&&Schema| table.heading.trim_matches(['[', ']']).split('.').next() == Some(first);
    TOP.tables().iter().find(matches).copied().unwrap()
}

#[test]
fn the_shipped_configuration_loads_without_anything_else() {
    let case = Case::new(SHIPPED, &[]);
    let loaded = case.load().unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(loaded.config.warnings, Vec::<String>::new());
    assert_eq!(loaded.to_be_generated.len(), 2, "{:?}", loaded.to_be_generated);
    assert_eq!(loaded.config.routes.len(), 2);
}

#[test]
fn every_documented_default_is_the_built_in_one() {
    assert_ne!(uncommented(SHIPPED), SHIPPED);
    assert_eq!(shown(&uncommented(SHIPPED)), shown(SHIPPED));
    // The settings of an HTTP destination stand in an example.
    let service = "[destinations.service]\nkind = \"http\"\nurl = \"https://example.com/\"\n";
    let example = SHIPPED.split_once("with their defaults:\n").unwrap().1;
    let defaults: String =
        example.lines().skip(1).map_while(|line| line.strip_prefix("#     ")).map(|line| format!("{line}\n")).collect();
    assert_eq!(defaults.lines().count(), 4);
    assert_eq!(shown(&format!("{SMALL}{service}{defaults}")), shown(&format!("{SMALL}{service}")));
    // And so do those of a route's lanes.
    let lanes = SHIPPED.split_once("for its lanes, with their defaults.").unwrap().1.split_once("# And two").unwrap().0;
    let defaults: String = lanes
        .lines()
        .filter_map(|line| line.strip_prefix("#     ").filter(|line| line.contains(" = ")))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(defaults.lines().count(), 4);
    assert_eq!(shown(&format!("{SMALL}order = \"event\"\n{defaults}")), shown(&format!("{SMALL}order = \"event\"")));
}

#[test]
fn every_setting_is_documented() {
    for table in TOP.tables() {
        for (key, _) in table.keys {
            let mentioned = |line: &str| {
                let bare = line.trim_start_matches(['#', ' ', '[', '{']);
                bare.starts_with(key) || line.contains(&format!("{{ {key} =")) || line.contains(&format!(", {key} ="))
            };
            assert!(SHIPPED.lines().any(mentioned), "{key} of {} is missing in config/oncehook.toml", table.place());
        }
    }
}

#[test]
fn the_examples_in_it_are_good() {
    let text: String =
        SHIPPED.lines().map(|line| format!("{}\n", line.strip_prefix("#     ").unwrap_or(line))).collect();
    let destination = text.split_once("[destinations.deployer]").unwrap().1.split_once("\n# Its").unwrap().0;
    let route = text.rsplit_once("[[routes]]").unwrap().1;
    let example = format!("{SMALL}[destinations.deployer]{destination}\n[[routes]]{route}");
    let secret = "whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH";
    let loaded =
        Case::new(&example, &[("DEPLOYER_WEBHOOK_SECRET", secret)]).load().unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(loaded.config.routes[1].filter.as_deref(), Some("payload.ref == \"refs/heads/main\""));
    assert_eq!(loaded.config.warnings, Vec::<String>::new());
}

#[test]
fn b149_every_key_that_is_misspelt_once_is_named_with_line_and_suggestion() {
    let text = complete();
    let lines: Vec<&str> = text.lines().collect();
    let mut tried = 0;
    for (n, line) in lines.iter().enumerate() {
        let Some(key) = key_of(line) else { continue };
        let misspelt = format!("{}{}", &key[..1], &key[2..]);
        let wrong: Vec<String> = lines
            .iter()
            .enumerate()
            .map(|(m, l)| if m == n { l.replacen(key, &misspelt, 1) } else { (*l).into() })
            .collect();
        let errors = Case::new(&wrong.join("\n"), &[]).load().expect_err(key);
        let error = errors.0.iter().find(|e| e.line == Some(n + 1)).unwrap_or_else(|| panic!("{key}: {errors}"));
        assert!(error.key.ends_with(&misspelt), "{error}");
        let suggests = error.instead.contains(&format!("did you mean `{key}`"))
            || (key.len() < 5 && error.instead.contains(&format!("`{key}`")));
        assert!(suggests, "{error}");
        tried += 1;
    }
    assert!(tried > 55, "{tried}");
}

#[test]
fn b149_every_key_that_is_moved_one_table_up_or_down_is_noticed() {
    let text = complete();
    let lines: Vec<&str> = text.lines().collect();
    let headings = headings(&lines);
    let all: Vec<Option<usize>> = std::iter::once(None)
        .chain(headings.iter().copied().flatten().collect::<std::collections::BTreeSet<_>>().into_iter().map(Some))
        .collect();
    let mut tried = 0;
    for (n, line) in lines.iter().enumerate() {
        let Some(key) = key_of(line) else { continue };
        let at = all.iter().position(|heading| *heading == headings[n]).unwrap();
        for target in [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|t| all.get(t)) {
            if schema_of(target.map(|heading| lines[heading])).kind_of(key).is_some() {
                continue;
            }
            // Line 0 is the heading of the top, so to say.
            let after = target.map_or(0, |heading| heading + 1);
            let mut moved = lines.clone();
            moved.remove(n);
            let after = if after > n { after - 1 } else { after };
            moved.insert(after, line);
            let errors = Case::new(&moved.join("\n"), &[]).load().expect_err(key);
            let error =
                errors.0.iter().find(|e| e.line == Some(after + 1)).unwrap_or_else(|| panic!("{key}: {errors}"));
            assert!(
                error.key.ends_with(key)
                    && (error.instead.contains("belongs in") || error.instead.contains("did you mean")),
                "{error}"
            );
            tried += 1;
        }
    }
    assert!(tried > 80, "{tried}");
}
