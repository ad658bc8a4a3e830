//! Where a configuration comes from: files that are there or not, and the environment over them.

use std::time::Duration;

use secrecy::ExposeSecret as _;

use super::*;

#[test]
fn b152_a_file_that_was_asked_for_must_be_there() {
    let mut case = Case::new(SMALL, &[]);
    case.options.file = Some(case.path("nothing.toml"));
    insta::assert_snapshot!(case.mistakes(), @r#"
    the configuration has a mistake

    FOLDER/nothing.toml
      problem: cannot be read: No such file or directory (os error 2)
      instead: correct the path, or leave --config out to use config/oncehook.toml
    "#);
}

#[test]
fn b152_a_directory_and_an_empty_file_and_a_binary_one_are_told_apart() {
    let mut case = Case::new(SMALL, &[]);
    case.options.file = Some(case.path("."));
    assert!(case.mistakes().contains("is a directory"));
    let empty = Case::new(" \n", &[]);
    assert!(empty.mistakes().contains("FOLDER/oncehook.toml\n  problem: is empty"), "{}", empty.mistakes());
    let binary = Case::new(SMALL, &[]);
    std::fs::write(binary.path("oncehook.toml"), b"\xff\xfe").unwrap();
    assert!(binary.mistakes().contains("cannot be read"), "{}", binary.mistakes());
}

#[test]
fn b152_a_relative_path_is_reported_as_an_absolute_one() {
    let mut case = Case::new(SMALL, &[]);
    case.options.file = Some("no-such-file.toml".into());
    let errors = case.load().unwrap_err();
    assert!(errors.0[0].file.starts_with('/') && errors.0[0].file.ends_with("/no-such-file.toml"), "{errors}");
}

#[test]
fn b152_without_any_source_nothing_starts() {
    assert!(mistakes_with("[sources.github]", "[destinations.x]").contains("there is no source"));
}

#[test]
fn without_a_file_the_shipped_configuration_is_used_and_says_so() {
    let mut case = Case::new(SMALL, &[]);
    case.options.file = None;
    let loaded = load_from(&case.options, &[case.path("a.toml"), case.path("b.toml")]).unwrap();
    assert_eq!(loaded.origin, Origin::Shipped);
    assert!(
        loaded.config.warnings[0].contains(&case.path("a.toml").display().to_string()),
        "{:?}",
        loaded.config.warnings
    );

    let second = load_from(&case.options, &[case.path("a.toml"), case.path("oncehook.toml")]).unwrap();
    assert_eq!(second.origin, Origin::File(case.path("oncehook.toml")));
}

#[test]
fn a_usual_place_that_cannot_be_read_is_not_passed_over() {
    let mut case = Case::new(SMALL, &[]);
    case.options.file = None;
    let errors = load_from(&case.options, &[case.path("."), case.path("oncehook.toml")]).unwrap_err();
    assert!(errors.to_string().contains("is a directory"), "{errors}");
}

#[test]
fn variables_override_the_file_with_the_type_of_the_key() {
    let text = format!(
        "[intake]\nthreads = 3\n{SMALL}[sources.my-shop]\nprovider = \"stripe\"\nsecrets = [{{ generated = true }}]\n"
    );
    let case = Case::new(
        &text,
        &[
            ("ONCEHOOK_INTAKE__LISTEN", "127.0.0.1:0"),
            ("ONCEHOOK_INTAKE__THREADS", "7"),
            ("ONCEHOOK_INTAKE__BODY_TIMEOUT", "3s"),
            ("ONCEHOOK_SOURCES__MY_SHOP__TOLERANCE", "10m"),
            ("ONCEHOOK_SOURCES__GITHUB__ALLOW_UNSIGNED", "false"),
            ("ONCEHOOK_SOURCES__GITHUB__SECRETS", "[{ env = \"ONCEHOOK_GITHUB_KEY\" }]"),
            ("ONCEHOOK_GITHUB_KEY", "another-f3a9c1d07e5b4286"),
            ("ONCEHOOK_CONFIG", "/not/for/us"),
            ("ONCEHOOK_PORT_8080_TCP_ADDR", "10.0.0.1"),
            ("ONCEHOOK_SERVICE_HOST", "10.0.0.1"),
        ],
    );
    let config = case.load().unwrap_or_else(|errors| panic!("{errors}")).config;
    assert_eq!(config.intake.listen.port(), 0);
    assert_eq!((config.intake.threads, config.intake.body_timeout), (7, Duration::from_secs(3)));
    assert_eq!(config.sources[&"my-shop".parse().unwrap()].tolerance, Duration::from_secs(600));
    assert_eq!(config.sources[&"github".parse().unwrap()].secrets[0].expose(), b"another-f3a9c1d07e5b4286");
    assert_eq!(config.data_dir, case.path("data"));
}

#[test]
fn database_url_counts_more_than_the_file_and_less_than_our_own_variable() {
    let text = format!("[database]\nurl = \"postgres://file/x\"\n{SMALL}");
    let url = |variables: &[(&str, &str)]| {
        let config = Case::new(&text, variables).load().unwrap_or_else(|errors| panic!("{errors}")).config;
        config.database.url.unwrap().expose_secret().to_owned()
    };
    assert_eq!(url(&[]), "postgres://file/x");
    assert_eq!(url(&[("DATABASE_URL", "postgres://conventional/x")]), "postgres://conventional/x");
    assert_eq!(
        url(&[("DATABASE_URL", "postgres://conventional/x"), ("ONCEHOOK_DATABASE__URL", "postgresql://ours/x")]),
        "postgresql://ours/x"
    );
}

#[test]
fn b149_variables_that_are_no_settings_are_named_with_a_suggestion() {
    let case = Case::new(
        SMALL,
        &[
            ("ONCEHOOK_INTAKE__LISTNE", "127.0.0.1:0"),
            ("ONCEHOOK_SHUTDOWN_GRACE", "3s"),
            ("ONCEHOOK_LISTEN", "127.0.0.1:0"),
            ("ONCEHOOK_RUN__CONCURRENCY", "many"),
            ("ONCEHOOK_SOURCES__GITHUB__SECRETS", CANARY),
            ("ONCEHOOK_ROUTES__ALL__SOURCE", "x"),
            ("DATABASE_URL", ""),
        ],
    );
    insta::assert_snapshot!(case.mistakes(), @r#"
    the configuration has 7 mistakes

    environment variable DATABASE_URL
      problem: is empty
      instead: unset it to use the value of the file, or give it a value

    environment variable ONCEHOOK_INTAKE__LISTNE
      problem: is not a setting
      instead: did you mean ONCEHOOK_INTAKE__LISTEN?

    environment variable ONCEHOOK_LISTEN
      problem: is not a setting
      instead: did you mean ONCEHOOK_INTAKE__LISTEN or ONCEHOOK_ADMIN__LISTEN?

    environment variable ONCEHOOK_ROUTES__ALL__SOURCE
      problem: cannot be set by a variable: routes are a list
      instead: write the routes in the file

    environment variable ONCEHOOK_RUN__CONCURRENCY
      problem: does not hold a whole number
      instead: write digits only, such as 300

    environment variable ONCEHOOK_SHUTDOWN_GRACE
      problem: is not a setting
      instead: did you mean ONCEHOOK_SHUTDOWN__GRACE?

    environment variable ONCEHOOK_SOURCES__GITHUB__SECRETS
      problem: does not hold a list
      instead: write it as in the file: [{ env = "NAME" }] for secrets, ["a", "b"] for texts
    "#);
}
