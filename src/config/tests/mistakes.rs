//! Mistakes in the settings: what is said about each, and that one does not hide the next.

use super::*;
use crate::route::Routes;

/// Fifteen mistakes, one of a kind each.
const FULL_OF_MISTAKES: &str = r#"
lsten = "0.0.0.0:80"

[intake]
listen = "localhost"
threads = "4"
body_timeout = 300
in_flight_bytes_max = "256MB"

[run]
heartbeat = "10s"

[sources.github]
provider = "gihtub"
secrets = [{ env = "GITHUB_WEBHOOK_SECRET" }]
tolerance = "5 minutes"

[destinations.deployer]
kind = "http"
url = "ftp://example.com"

[[routes]]
name = "deploy"
source = "githbu"
events = ["push", "release*"]
filter = 'pyload.ref == "x"'
order = "evnt"
destination = "deployr"
retry = { attempts = 0, max = "1h" }
"#;

#[test]
fn all_mistakes_are_reported_at_once_with_file_line_key_and_what_to_write() {
    insta::assert_snapshot!(Case::new(FULL_OF_MISTAKES, &[]).mistakes(), @r#"
    the configuration has 15 mistakes

    FOLDER/oncehook.toml:2: lsten
      problem: is not a key of the top of the file, before the first [table]
      instead: did you mean `listen`, which belongs in [intake]?

    FOLDER/oncehook.toml:5: intake.listen
      problem: is "localhost", which is not an address to listen on
      instead: write an IP address and a port, such as "0.0.0.0:8080" or "[::]:8080"

    FOLDER/oncehook.toml:6: intake.threads
      problem: is a text in quotes, where a whole number is expected
      instead: write 4, without quotes

    FOLDER/oncehook.toml:7: intake.body_timeout
      problem: is 300, without a unit
      instead: write a time with its unit (d, h, m, s, ms) from "100ms" to "10m", such as "10s"; if that is s: "300s"

    FOLDER/oncehook.toml:8: intake.in_flight_bytes_max
      problem: is "256MB", which cannot be read
      instead: write a size with its unit (B, KiB, MiB, GiB) from "1MiB" to "64GiB", such as "256MiB"

    FOLDER/oncehook.toml:11: run.heartbeat
      problem: leaves no room for a late heartbeat: the lease would run out while its worker is alive, and the delivery would run twice
      instead: make run.heartbeat less than half of run.lease, such as heartbeat = "5s" and lease = "15s"

    FOLDER/oncehook.toml:14: sources.github.provider
      problem: is "gihtub", which Oncehook does not know
      instead: did you mean "github"?

    FOLDER/oncehook.toml:16: sources.github.tolerance
      problem: is "5 minutes", which cannot be read
      instead: write a time with its unit (d, h, m, s, ms) from "1s" to "1d", such as "5m"

    FOLDER/oncehook.toml:20: destinations.deployer.url
      problem: does not begin with http:// or https://
      instead: write an absolute URL, such as "http://127.0.0.1:9000/hooks"

    FOLDER/oncehook.toml:24: routes[0].source
      problem: is "githbu", but there is no such source: the route would lead nowhere
      instead: did you mean "github"?

    FOLDER/oncehook.toml:25: routes[0].events[1]
      problem: is "release*", which is no pattern of event types
      instead: write an event type with all below it ("push", "release", "release.*"), or "*"

    FOLDER/oncehook.toml:26: routes[0].filter
      problem: speaks of "pyload", which does not exist
      instead: did you mean payload? An expression sees payload, event and source

    FOLDER/oncehook.toml:27: routes[0].order
      problem: is "evnt", which is no order
      instead: write "arrival" (one at a time per ordering key, in the order received), "event" (by the provider's own event time) or "none"

    FOLDER/oncehook.toml:28: routes[0].destination
      problem: is "deployr", but there is no such destination: the route would lead nowhere
      instead: did you mean "deployer"?

    FOLDER/oncehook.toml:29: routes[0].retry.attempts
      problem: is 0, which is out of bounds
      instead: write a whole number from 1 to 1000, such as 12
    "#);
}

#[test]
fn mistakes_of_grammar_and_duplicate_tables_name_their_line() {
    insta::assert_snapshot!(mistakes_after("[intake]\nthreads = 2\n[intake]\nlisten =\n"), @r#"
    the configuration has 2 mistakes

    FOLDER/oncehook.toml:3
      problem: duplicate key
      instead: a key or [table] may stand only once: join the two, or remove one

    FOLDER/oncehook.toml:4
      problem: string values must be quoted, expected literal string
      instead: write TOML (https://toml.io): texts in quotes, [table] headings on lines of their own
    "#);
}

#[test]
fn b038_a_tolerance_that_is_none_or_absurd_is_refused() {
    for wrong in [
        "-1",
        "0",
        "\"0s\"",
        "\"abc\"",
        "1e18",
        "nan",
        "inf",
        "\"-5m\"",
        "300",
        "\"2d\"",
        "\"500ms\"",
        "true",
        "99999999999999999999",
    ] {
        let text = mistakes_with("[sources.github]", &format!("[sources.github]\ntolerance = {wrong}"));
        assert!(text.contains("sources.github.tolerance") && text.contains("\"5m\""), "{wrong}: {text}");
    }
}

#[test]
fn numbers_out_of_bounds_are_refused_with_the_bounds() {
    for wrong in ["0", "-1", "257", "1.5", "\"2\"", "[2]", "99999999999999999999999"] {
        let text = mistakes_after(&format!("[intake]\nthreads = {wrong}\n"));
        assert!(text.contains(":2: intake.threads"), "{wrong}: {text}");
    }
}

#[test]
fn b073_a_heartbeat_must_leave_room_in_its_lease() {
    assert!(mistakes_after("[run]\nlease = \"10s\"\n").contains("run.lease"));
    assert!(mistakes_after("[run]\nheartbeat = \"8s\"\n").contains("run.heartbeat"));
    assert!(Case::new(&format!("[run]\nlease = \"10s\"\nheartbeat = \"4s\"\n{SMALL}"), &[]).load().is_ok());
}

#[test]
fn b153_names_that_would_share_a_path_are_refused() {
    let twice = "[sources.GitHub]\nprovider = \"github\"\nsecrets = [{ env = \"GITHUB_WEBHOOK_SECRET\" }]\n";
    let text = mistakes_after(twice);
    assert!(text.contains("[sources.GitHub]") && text.contains("sources.github"), "{text}");
    for name in ["\"git/hub\"", "\"git%68ub\"", "\"github/\"", "\"\"", "\"..\""] {
        let text = mistakes_with("[sources.github]", &format!("[sources.{name}]"));
        assert!(text.contains("not usable"), "{name}: {text}");
    }
    let duplicate = SMALL.split_once("[[routes]]").unwrap().1;
    let text = Case::new(&format!("{SMALL}[[routes]]{duplicate}"), &[]).mistakes();
    assert!(text.contains("as the name of another route in line 9"), "{text}");
    assert!(mistakes_after("[admin]\nlisten = \"0.0.0.0:8080\"\n").contains("admin.listen"));
}

#[test]
fn a_source_without_secrets_must_say_that_it_is_unsigned_and_does_so_loudly() {
    let secrets = "secrets = [{ env = \"GITHUB_WEBHOOK_SECRET\" }]";
    assert!(mistakes_with(secrets, "").contains("there is no secret"));
    assert!(mistakes_with(secrets, "secrets = []").contains("there is no secret"));
    assert!(mistakes_with(secrets, &format!("{secrets}\nallow_unsigned = true")).contains("stands beside secrets"));
    let config = Case::new(&SMALL.replace(secrets, "allow_unsigned = true"), &[]).load().unwrap().config;
    assert!(config.warnings[0].contains("UNSIGNED"), "{:?}", config.warnings);
    let source = &config.sources[&"github".parse().unwrap()];
    assert!(source.scheme.is_none() && source.secrets.is_empty());
}

#[test]
fn what_leads_nowhere_is_a_mistake_and_what_nothing_leads_to_a_warning() {
    assert!(mistakes_with("source = \"github\"", "source = \"gitlab\"").contains("would lead nowhere"));
    assert!(mistakes_with("destination = \"demo\"", "destination = \"dmo\"").contains("did you mean \"demo\"?"));
    let lonely = "[destinations.lonely]\nkind = \"log\"\n[sources.lonely]\nprovider = \"github\"\nsecrets = [{ env = \"GITHUB_WEBHOOK_SECRET\" }]\n";
    let warnings = Case::new(&format!("{lonely}{SMALL}"), &[]).load().unwrap().config.warnings;
    assert!(warnings.len() == 2 && warnings.iter().all(|warning| warning.contains("lonely")), "{warnings:?}");
}

#[test]
fn the_url_of_a_destination_is_checked_and_never_shown() {
    let with = |url: &str| Case::new(&SMALL.replace("\"log\"", &format!("\"http\"\nurl = \"{url}\"")), &[]);
    for wrong in [
        "example.com",
        "ftp://canary.example.com",
        "http://",
        "http://user:canary@example.com/",
        "https://canary@example.com",
        "/canary",
    ] {
        let text = with(wrong).mistakes();
        assert!(text.contains("destinations.demo.url") && !text.contains("canary"), "{wrong}: {text}");
    }
    for (url, warnings) in [
        ("http://localhost:9000/", 0),
        ("http://[::1]:9/x", 0),
        ("https://example.com", 0),
        ("http://example.com/?canary", 1),
    ] {
        let config = with(url).load().unwrap_or_else(|errors| panic!("{errors}")).config;
        assert_eq!(config.warnings.len(), warnings, "{url}: {:?}", config.warnings);
        assert!(!format!("{:?}", config.warnings).contains("canary"));
    }
    assert!(with("https://example.com\"\nfirst_byte_timeout = \"40s").mistakes().contains("first_byte_timeout"));
    assert!(
        mistakes_with("\"log\"", "\"log\"\nurl = \"https://example.com\"")
            .contains("is for destinations of kind \"http\"")
    );
}

#[test]
fn event_patterns_and_filters_must_be_readable() {
    for wrong in ["", "re*", "*.opened", "release.", "a b", "**", "release.*.x", "é"] {
        let text = mistakes_with("events = [\"*\"]", &format!("events = [\"push\", \"{wrong}\"]"));
        assert!(text.contains("routes[0].events[1]"), "{wrong}: {text}");
    }
    assert!(mistakes_with("events = [\"*\"]", "events = []").contains("match nothing"));
    let filtered = |filter: &str| Case::new(&format!("{SMALL}filter = '{filter}'\n"), &[]);
    for good in
        ["payload.commits.exists(c, c.id == \"x\")", "has(payload.action) && source == \"y\"", "event == \"push\""]
    {
        let config = filtered(good).load().expect(good).config;
        assert!(Routes::compile(&config.routes).is_ok(), "what is loaded can be used: {good}");
    }
    insta::assert_snapshot!(filtered("payload.ref = 1").mistakes(), @r#"
    the configuration has a mistake

    FOLDER/oncehook.toml:14: routes[0].filter
      problem: cannot be compiled:
               ERROR: <input>:1:13: Syntax error: token recognition error at: '= '
               | payload.ref = 1
               | ............^
               ERROR: <input>:1:15: Syntax error: extraneous input '1' expecting <EOF>
               | payload.ref = 1
               | ..............^
      instead: write a CEL expression (https://cel.dev) over payload, event and source, such as 'payload.ref == "refs/heads/main"'
    "#);
}

#[test]
fn a_check_prints_what_is_good_and_what_is_to_come() {
    let text = SMALL.replace("env = \"GITHUB_WEBHOOK_SECRET\"", "generated = true");
    let case = Case::new(&text, &[]);
    let mut options = case.options.clone();
    options.may_generate = true;
    let report = check(&options);
    assert!(report.is_good() && !case.path("data").exists(), "a check writes nothing");
    let text = report.to_string().replace(&case.folder.path().display().to_string(), "FOLDER");
    insta::assert_snapshot!(text, @r#"
    FOLDER/oncehook.toml: good

      database: an embedded PostgreSQL; files in FOLDER/data
      source github: /hooks/github, a secret to be generated
      destination demo: writes to the log
      route all: github [*] → demo, in order of arrival

    note: the next start generates the secret of source github in FOLDER/data/secrets/source-github
    "#);
    assert!(!check(&Case::new("x = 1", &[]).options).is_good());
}

#[test]
fn what_is_missing_is_named_at_the_line_of_its_table() {
    for (line, key, at) in [
        ("provider = \"github\"", "sources.github.provider", 2),
        ("kind = \"log\"", "destinations.demo.kind", 6),
        ("name = \"all\"", "routes[0].name", 9),
        ("events = [\"*\"]", "routes[0].events", 9),
        ("destination = \"demo\"", "routes[0].destination", 9),
    ] {
        let text = mistakes_with(line, "");
        assert!(text.contains(&format!(":{at}: {key}\n  problem: is missing")), "{text}");
    }
    assert!(mistakes_with("name = \"all\"", "name = 5").contains("is a whole number, which does not fit here"));
}

#[test]
fn the_built_in_outbox_can_be_routed_and_not_configured() {
    let routed = SMALL.replace("source = \"github\"", "source = \"outbox\"");
    assert_eq!(Case::new(&routed, &[]).load().unwrap().config.routes[0].source.as_str(), "outbox");
    let text = Case::new(&routed.replace("[sources.github]", "[sources.outbox]"), &[]).mistakes();
    assert!(text.contains("sources.outbox\n  problem: has the name of the built-in source"), "{text}");
    assert!(text.contains("has a mistake"), "{text}");
}
