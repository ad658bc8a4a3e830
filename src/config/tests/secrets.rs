//! Secrets: which are taken, which are refused, and that none is ever shown.

use std::os::unix::fs::PermissionsExt as _;

use secrecy::ExposeSecret as _;

use super::*;
use crate::domain::Secret;

/// A configuration with one source, whose secret is this reference.
fn source(provider: &str, reference: &str) -> String {
    SMALL
        .replace("\"github\"\nsecrets", &format!("\"{provider}\"\nsecrets"))
        .replace("env = \"GITHUB_WEBHOOK_SECRET\"", reference)
}

/// The outcome with a secret in a variable.
fn by_variable(provider: &str, value: &str) -> (Case, Result<Loaded, ConfigErrors>) {
    let case = Case::new(&source(provider, "env = \"KEY\""), &[("KEY", value)]);
    let loaded = case.load();
    (case, loaded)
}

/// The outcome with a secret in a file.
fn by_file(provider: &str, bytes: impl AsRef<[u8]>) -> (Case, Result<Loaded, ConfigErrors>) {
    let case = Case::new("", &[]);
    let path = case.path("key");
    std::fs::write(&path, bytes).unwrap();
    std::fs::write(case.path("oncehook.toml"), source(provider, &format!("file = \"{}\"", path.display()))).unwrap();
    let loaded = case.load();
    (case, loaded)
}

fn key(loaded: Result<Loaded, ConfigErrors>) -> Vec<u8> {
    let config = loaded.unwrap_or_else(|errors| panic!("{errors}")).config;
    config.sources.values().next().unwrap().secrets[0].expose().to_vec()
}

fn refusal(loaded: Result<Loaded, ConfigErrors>) -> String {
    loaded.expect_err("the secret is not fit for use").to_string()
}

#[test]
fn b001_whitespace_around_a_secret_stops_the_start_and_is_called_by_its_name() {
    for value in [
        "whsec_abcdefghijklmnop\n",
        " whsec_abcdefghijklmnop",
        "whsec_abcdefghijklmnop\t",
        "whsec_abcdefghijklmnop\u{a0}",
    ] {
        let text = refusal(by_variable("stripe", value).1);
        assert!(
            text.contains("KEY") && text.contains("whitespace") && text.contains("sources.github.secrets[0]"),
            "{text}"
        );
    }
    for value in [" whsec_abcdefghijklmnop", "whsec_abcdefghijklmnop\t\n", "whsec_abcdefghijklmnop\n\n"] {
        assert!(refusal(by_file("stripe", value).1).contains("whitespace"));
    }
}

#[test]
fn b002_one_line_break_at_the_end_of_a_file_is_no_part_of_the_secret() {
    for end in ["", "\n", "\r\n"] {
        assert_eq!(key(by_file("github", format!("ghsecret-0123456789{end}")).1), b"ghsecret-0123456789");
    }
    assert!(refusal(by_file("github", "ghsecret-0123456789\nghsecret-9876543210\n").1).contains("line break"));
    assert!(refusal(by_file("github", b"\xffghsecret-0123456789").1).contains("cannot be read"));
    assert!(refusal(by_file("github", "\u{feff}ghsecret-0123456789").1).contains("control character"));
}

#[test]
fn b004_a_secret_is_taken_to_the_letter() {
    let odd = "a=b'c\"d<e>f&g\\h$i#j%k${PATH}";
    assert_eq!(key(by_variable("github", odd).1), odd.as_bytes());
    assert_eq!(key(by_file("github", format!("{odd}\n")).1), odd.as_bytes());
}

#[test]
fn b022_placeholders_and_published_examples_are_refused() {
    for known in [
        "changeme",
        "whsec_xxx",
        "your-secret-here",
        "development_secret",
        "It's a Secret to Everybody",
        "${GITHUB_WEBHOOK_SECRET}",
    ] {
        for provider in ["github", "stripe", "standard_webhooks"] {
            let text = refusal(by_variable(provider, known).1);
            assert!(text.contains("placeholder"), "{known}: {text}");
        }
    }
    assert!(
        refusal(by_variable("standard_webhooks", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").1).contains("placeholder")
    );
}

#[test]
fn b023_no_magic_value_turns_checking_off() {
    for magic in ["***", "none", "null", "false", "disabled", "0", "insecure", ""] {
        refusal(by_variable("github", magic).1);
        refusal(by_file("github", format!("{magic}\n")).1);
    }
}

#[test]
fn a_secret_that_can_be_guessed_is_refused() {
    assert!(refusal(by_variable("github", "f3a9c1d07e5b428").1).contains("has 15 bytes"));
    assert_eq!(key(by_variable("github", "f3a9c1d07e5b4286").1).len(), 16);
    assert!(refusal(by_variable("stripe", "whsec_f3a9c1d07e5b428").1).contains("has 15 bytes"));
    assert_eq!(key(by_variable("stripe", "whsec_f3a9c1d07e5b4286").1).len(), 22, "the prefix is part of Stripe's key");
    assert!(refusal(by_variable("standard_webhooks", "whsec_8WnHqfXB3mQ1vLrT6w==").1).contains("has 13 bytes"));
    for same in ["whsec_8WnHqfXB3mQ1vLrT6kZpAw==", "8WnHqfXB3mQ1vLrT6kZpAw"] {
        assert_eq!(key(by_variable("standard_webhooks", same).1).len(), 16);
    }
    assert!(refusal(by_variable("standard_webhooks", "whsec_not-base64-not-base64").1).contains("base64"));
}

#[test]
fn b027_a_key_of_another_kind_is_taken_for_stripe_with_a_warning() {
    for (value, count) in [("sk_test_f3a9c1d07e5b4286", 1), ("f3a9c1d07e5b4286f3a9", 1), ("whsec_f3a9c1d07e5b4286", 0)]
    {
        let warnings = by_variable("stripe", value).1.unwrap().config.warnings;
        assert_eq!(
            warnings.iter().filter(|warning| warning.contains("does not look like whsec_")).count(),
            count,
            "{warnings:?}"
        );
    }
}

#[test]
fn what_a_reference_leads_to_must_be_there() {
    let case = Case::new(&source("github", "env = \"GITHUB_WEBHOOK_SECRE\""), &[]);
    insta::assert_snapshot!(case.mistakes(), @r#"
    the configuration has a mistake

    FOLDER/oncehook.toml:4: sources.github.secrets[0]
      problem: the environment variable GITHUB_WEBHOOK_SECRE is not set
      instead: set GITHUB_WEBHOOK_SECRE, or write GITHUB_WEBHOOK_SECRET, which is set
    "#);
    let text = Case::new(&source("github", "file = \"/nowhere/github\""), &[]).mistakes();
    assert!(text.contains("/nowhere/github") && text.contains("make the file"), "{text}");
    assert!(Case::new(&source("github", "file = \"/tmp\""), &[]).mistakes().contains("it is a directory"));
    assert!(
        Case::new(&source("github", "env = \"KEY\", file = \"/x\""), &[("KEY", CANARY)])
            .mistakes()
            .contains("several ways")
    );
    assert!(Case::new(&source("github", ""), &[]).mistakes().contains("does not say where"));
    assert!(Case::new(&source("github", "evn = \"KEY\""), &[]).mistakes().contains("did you mean `env`?"));
    assert!(Case::new(&source("github", "generated = false"), &[]).mistakes().contains("generated"));
}

#[test]
fn no_secret_is_in_any_error_warning_or_debug_print() {
    let inline = source("github", "x").replace("{ x }", &format!("\"{CANARY}\""));
    let mistakes = [
        Case::new(&inline, &[]).mistakes(),
        Case::new(&source("github", &format!("env = \"{CANARY}\"")), &[]).mistakes(),
        Case::new(&source("github", &format!("file = \"{CANARY}\"")), &[]).mistakes(),
        Case::new(&source("github", &format!("secret = \"{CANARY}\"")), &[]).mistakes(),
        Case::new(&source("github", &format!("generated = \"{CANARY}\"")), &[]).mistakes(),
        Case::new(&format!("{SMALL}secret = \"{CANARY}\n"), &[]).mistakes(),
        Case::new(SMALL, &[("DATABASE_URL", &format!("mysql://user:{CANARY}@host/"))]).mistakes(),
        Case::new(SMALL, &[("ONCEHOOK_SOURCES__GITHUB__SECRETS", CANARY)]).mistakes(),
        refusal(by_variable("github", &format!(" {CANARY}")).1),
        refusal(by_variable("standard_webhooks", CANARY).1),
        refusal(by_file("github", format!("{CANARY}\n{CANARY}")).1),
    ];
    for text in &mistakes {
        assert!(!text.contains("canary-"), "{text}");
    }
    let url = format!("postgres://user:{CANARY}@host/x");
    let case = Case::new(
        &format!("[database]\nurl = \"{url}\"\n{}", source("stripe", "env = \"GITHUB_WEBHOOK_SECRET\"")),
        &[("DATABASE_URL", &url)],
    );
    let loaded = case.load().unwrap();
    let prints = format!("{loaded:?} {:?} {} {:?}", case.options, check(&case.options), loaded.config.warnings);
    assert!(prints.contains("GITHUB_WEBHOOK_SECRET") && !prints.contains("canary-"), "{prints}");
}

#[test]
fn a_generated_secret_is_made_once_kept_private_and_read_again() {
    for (provider, beginning) in [("github", ""), ("stripe", "whsec_"), ("standard_webhooks", "whsec_")] {
        let mut case = Case::new(&source(provider, "generated = true"), &[]);
        let waiting = case.load().unwrap();
        assert!(
            waiting.generated.is_empty() && waiting.config.sources.values().all(|source| source.secrets.is_empty())
        );
        assert!(waiting.to_be_generated[0].starts_with("source github in ") && !case.path("data").exists());

        case.options.may_generate = true;
        let first = case.load().unwrap();
        let [made] = first.generated.as_slice() else { panic!("one is made") };
        assert!(made.secret.expose_secret().starts_with(beginning) && first.to_be_generated.is_empty());
        assert!(!format!("{made:?}").contains(made.secret.expose_secret()));
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&made.path), mode(made.path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(std::fs::read_dir(made.path.parent().unwrap()).unwrap().count(), 1, "no draft is left");

        let second = case.load().unwrap();
        assert!(second.generated.is_empty());
        assert_eq!(key(Ok(second)), key(Ok(first)));
    }
}

#[test]
fn two_generated_secrets_differ_and_a_mistake_elsewhere_makes_none() {
    let made = |_| {
        let mut case = Case::new(&source("github", "generated = true"), &[]);
        case.options.may_generate = true;
        key(case.load())
    };
    assert_ne!(made(1), made(2));
    let mut case = Case::new(&format!("x = 1\n{}", source("github", "generated = true")), &[]);
    case.options.may_generate = true;
    assert!(case.load().is_err() && !case.path("data").exists());
}

#[test]
fn a_destination_signs_with_a_secret_of_its_own() {
    let text = SMALL.replace("\"log\"", "\"http\"\nurl = \"https://example.com\"\nsecret = { generated = true }");
    let mut case = Case::new(&text, &[]);
    case.options.may_generate = true;
    let config = case.load().unwrap().config;
    let DestinationKind::Http(http) = &config.destinations.values().next().unwrap().kind else { panic!("it is HTTP") };
    assert_eq!(http.secret.as_ref().map(|secret| secret.expose().len()), Some(32));
    assert!(case.path("data/secrets/destination-demo").exists());
}

#[test]
fn b155_a_secret_that_has_changed_is_the_one_in_force_after_the_next_load() {
    let (case, loaded) = by_file("github", "first-f3a9c1d07e5b4286\n");
    let first = key(loaded);
    std::fs::write(case.path("key"), "second-f3a9c1d07e5b4286\n").unwrap();
    assert_eq!(key(case.load()), b"second-f3a9c1d07e5b4286");
    assert_eq!(first, b"first-f3a9c1d07e5b4286");
}

#[test]
fn several_secrets_are_good_at_once_while_they_rotate() {
    let text = source("github", "env = \"NEW\" }, { env = \"OLD\" }, { env = \"OLD\"");
    let case = Case::new(&text, &[("NEW", "new-f3a9c1d07e5b4286"), ("OLD", "old-f3a9c1d07e5b4286")]);
    let config = case.load().unwrap().config;
    let keys: Vec<&[u8]> = config.sources.values().next().unwrap().secrets.iter().map(Secret::expose).collect();
    assert_eq!(keys[..2], [b"new-f3a9c1d07e5b4286", b"old-f3a9c1d07e5b4286"]);
    assert!(config.warnings[0].contains("stands twice"), "{:?}", config.warnings);
}

#[test]
fn a_command_that_only_looks_needs_none_of_the_secrets() {
    let sources = source("github", "env = \"NOT_SET_HERE\"");
    let case = Case::new(&format!("{sources}\n[admin]\nlisten = \"127.0.0.1:9\"\n"), &[]);
    assert!(case.load().is_err());
    assert_eq!(load_to_look(&case.options).unwrap().admin.listen.port(), 9);
    assert!(load_to_look(&Case::new("[admin]\nlisten = 9\n", &[]).options).is_err(), "other mistakes are still told");
    assert!(load_to_look(&Case::new("[admin\n", &[]).options).is_err());
}
