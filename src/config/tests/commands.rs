//! Destinations of kind "command": off unless allowed, and what is wrong with one is named.

use secrecy::ExposeSecret as _;

use super::*;

/// `SMALL` with a command in the place of its log.
fn with_command(top: &str, lines: &str) -> Case {
    let destination = format!("kind = \"command\"\n{lines}");
    Case::new(&format!("{top}{}", SMALL.replace("kind = \"log\"", &destination)), &[])
}

fn mistakes_in(lines: &str) -> String {
    with_command("allow_commands = true\n", lines).mistakes()
}

#[test]
fn a_command_needs_to_be_allowed_at_the_top() {
    let lines = "command = [\"/bin/true\"]";
    for top in ["", "allow_commands = false\n"] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(with_command(top, lines).mistakes().replace(":8:", ":7:"), @r#"
            the configuration has a mistake

            FOLDER/oncehook.toml:7: destinations.demo.kind
              problem: is "command", and this configuration does not allow commands: they run as Oncehook's own user
              instead: write allow_commands = true at the top of the file, before the first [table], if that is meant
            "#);
        }
    }
    assert!(with_command("allow_commands = true\n", lines).load().unwrap().config.warnings.is_empty());
}

#[test]
fn a_command_is_read_with_all_its_settings() {
    let lines = "command = [\"/bin/sh\", \"-c\", \"$x\"]\ndirectory = \"/usr\"\ntimeout = \"7s\"\nreject_exits = [65, 2]\nenvironment = { LANG = \"C.UTF-8\", TOKEN = { env = \"GITHUB_WEBHOOK_SECRET\" } }";
    let config = with_command("allow_commands = true\n", lines).load().unwrap().config;
    assert!(!format!("{config:?}").contains(CANARY));
    let DestinationKind::Command(command) = &config.destinations.values().next().unwrap().kind else {
        panic!("it is a command")
    };
    assert_eq!(
        (command.program.to_str(), command.arguments.as_slice()),
        (Some("/bin/sh"), &["-c".into(), "$x".into()][..])
    );
    assert_eq!((command.directory.to_str(), command.timeout.as_secs()), (Some("/usr"), 7));
    assert_eq!(command.reject_exits, [65, 2]);
    let seen: Vec<_> = command.environment.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
    assert_eq!(seen, [("LANG", "C.UTF-8"), ("TOKEN", CANARY)]);
}

#[test]
fn what_is_wrong_with_a_command_is_named_with_what_to_write() {
    let good = "command = [\"/bin/true\"]\n";
    for (lines, key, told) in [
        ("", "demo.command", "is missing"),
        ("command = []", "demo.command", "is empty"),
        ("command = \"/bin/true\"", "demo.command", "write a list"),
        ("command = [\"true\"]", "demo.command", "no absolute path"),
        ("command = [\"./true\"]", "demo.command", "PATH is not searched"),
        ("command = [\"/bin/true\", 5]", "demo.command[1]", "as a text in quotes"),
        ("command = [\"/bin/true\", \"a\\u0000b\"]", "demo.command[1]", "holds a NUL"),
        (&format!("{good}directory = \"srv\""), "demo.directory", "no absolute path"),
        (&format!("{good}reject_exits = [75]"), "demo.reject_exits[0]", "asks to be tried again"),
        (&format!("{good}reject_exits = [65, 0]"), "demo.reject_exits[1]", "is done"),
        (&format!("{good}reject_exits = [256]"), "demo.reject_exits[0]", "is no exit code"),
        (&format!("{good}environment = \"X=1\""), "demo.environment", "write { LANG"),
        (&format!("{good}environment = {{ ONCEHOOK_SOURCE = \"x\" }}"), "ONCEHOOK_SOURCE", "sets itself"),
        (&format!("{good}environment = {{ \"A=B\" = \"x\" }}"), "A=B", "no name of a variable"),
        (&format!("{good}environment = {{ A = 5 }}"), "environment.A", "write a text in quotes"),
        (&format!("{good}environment = {{ A = \"\\u0000\" }}"), "environment.A", "holds a NUL"),
        (&format!("{good}environment = {{ A = {{ env = \"NOT_THERE\" }} }}"), "environment.A", "NOT_THERE is not set"),
        (&format!("{good}url = \"https://example.com\""), "demo.url", "kind \"http\""),
        (&format!("{good}timeout = \"2h\""), "demo.timeout", "out of bounds"),
    ] {
        let text = mistakes_in(lines);
        assert!(text.contains(&format!("{key}\n  problem")) && text.contains(told), "{lines}: {text}");
        assert!(text.contains("has a mistake"), "{lines}: {text}");
    }
    assert!(
        mistakes_with("\"log\"", "\"log\"\ncommand = [\"/bin/true\"]")
            .contains("is for destinations of kind \"command\"")
    );
    assert!(mistakes_with("\"log\"", "\"log\"\ntimeout = \"5s\"").contains("it takes no time"));
}

#[test]
fn a_program_or_folder_that_may_still_come_is_a_warning() {
    for (lines, told) in [
        ("command = [\"/no/such/program\"]", "is not there"),
        ("command = [\"/etc/passwd\"]", "may not be executed"),
        ("command = [\"/etc\"]", "is a folder"),
        ("command = [\"/bin/true\"]\ndirectory = \"/no/such/folder\"", "there is no folder"),
    ] {
        let warnings = with_command("allow_commands = true\n", lines).load().unwrap().config.warnings;
        assert!(warnings.len() == 1 && warnings[0].contains(told), "{lines}: {warnings:?}");
    }
}
