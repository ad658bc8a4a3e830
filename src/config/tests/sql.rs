//! Destinations of kind "sql" and "handler": what is wrong with one is named.

use super::*;

/// `SMALL` with another destination in the place of its log.
fn with(lines: &str) -> Case {
    Case::new(&SMALL.replace("kind = \"log\"", lines), &[])
}

#[test]
fn a_function_is_named_with_its_schema_and_its_role() {
    let case = with("kind = \"sql\"\nfunction = \"billing.on_event\"\nrole = \"writer\"");
    let config = case.load().unwrap_or_else(|errors| panic!("{errors}")).config;
    let Some(DestinationKind::Sql(sql)) = config.destinations.values().next().map(|end| &end.kind) else {
        panic!("{config:?}")
    };
    assert_eq!((sql.schema.as_str(), sql.function.as_str(), sql.role.as_str()), ("billing", "on_event", "writer"));
    assert_eq!((sql.search_path.as_slice(), sql.timeout.as_secs()), (["billing".to_owned()].as_slice(), 30));
}

#[test]
fn names_that_postgresql_would_read_otherwise_are_refused() {
    let long = "x".repeat(64);
    let cases = [
        ("function", "on_event".to_owned(), "does not name one function"),
        ("function", "a.b.c".to_owned(), "does not name one function"),
        ("function", "billing.".to_owned(), "does not name one function"),
        ("function", "billing.on_event()\u{20}".to_owned(), "does not name one function"),
        ("function", format!("billing.{long}"), "does not name one function"),
        ("role", "none".to_owned(), "cannot be the name of a role"),
        ("role", long.clone(), "cannot be the name of a role"),
        ("search_path", "billing, pg_temp".to_owned(), "no list of schemas"),
        ("search_path", "billing,,x".to_owned(), "no list of schemas"),
        ("search_path", "$user'".to_owned(), "no list of schemas"),
    ];
    for (key, value, problem) in cases {
        let value_of = |name: &str, good: &str| if name == key { value.clone() } else { good.to_owned() };
        let (function, role, path) =
            (value_of("function", "billing.on_event"), value_of("role", "writer"), value_of("search_path", "billing"));
        let lines = format!("kind = \"sql\"\nfunction = {function:?}\nrole = {role:?}\nsearch_path = {path:?}");
        let mistakes = with(&lines).mistakes();
        assert!(mistakes.contains(problem) && mistakes.contains(&format!("demo.{key}")), "{key} {value}: {mistakes}");
    }
}

#[test]
fn a_function_needs_a_role_and_other_kinds_have_none() {
    let mistakes = with("kind = \"sql\"").mistakes();
    assert!(mistakes.contains("demo.function") && mistakes.contains("demo.role"), "{mistakes}");
    let mistakes = with("kind = \"handler\"\nrole = \"writer\"").mistakes();
    assert!(mistakes.contains("is for destinations of kind \"sql\""), "{mistakes}");
}
