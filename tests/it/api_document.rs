//! The API's description: made from the code, kept in docs/openapi.json so that a change is seen, and complete.

use std::{collections::BTreeSet, fs, path::Path};

use oncehook::admin::api::describe;
use serde_json::Value;

/// Each operation: its path, its method, and what is said about it.
pub fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let all = paths.flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    });
    all.collect()
}

#[test]
fn the_description_in_docs_is_that_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openapi.json");
    let now = serde_json::to_string_pretty(&describe()).unwrap() + "\n";
    #[expect(clippy::disallowed_methods, reason = "this is how a person has the description written")]
    let blesses = std::env::var_os("ONCEHOOK_BLESS").is_some();
    if blesses {
        fs::write(&path, &now).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == now,
        "the API has changed: look at the difference, and write it with\n  ONCEHOOK_BLESS=1 cargo nextest run --all-features \
         the_description_in_docs_is_that_of_the_code"
    );
}

#[test]
fn what_is_served_is_described_and_what_is_described_is_served() {
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/admin/api/mod.rs")).unwrap();
    let routes = source.split("fn routes(").nth(1).and_then(|rest| rest.split("\n}\n").next()).unwrap();
    let served: BTreeSet<&str> = routes.split('"').skip(1).step_by(2).filter(|text| text.starts_with('/')).collect();
    let document = describe();
    let described: BTreeSet<&str> = operations(&document).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(served, described);
    assert!(served.len() > 30);
}

#[test]
fn each_operation_tells_what_it_is_and_how_it_can_fail() {
    let document = describe();
    assert_eq!(document["openapi"], "3.1.0");
    for (path, method, operation) in operations(&document) {
        let at = format!("{method} {path}");
        assert!(operation["summary"].as_str().is_some_and(|words| words.len() > 3), "{at}: no summary");
        assert_eq!(operation["tags"].as_array().map(Vec::len), Some(1), "{at}");
        assert!(operation["operationId"].is_string(), "{at}");
        let mut expected = vec!["400", "401", "429", "503"];
        if path.contains('{') {
            expected.push("404");
        }
        if method == "post" {
            expected.extend(["403", "409", "413", "415", "422"]);
        }
        for status in expected {
            let content = &operation["responses"][status]["content"]["application/problem+json"];
            assert_eq!(content["schema"]["$ref"], "#/components/schemas/Problem", "{at}: {status}");
        }
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let is_in_path = path.contains(&format!("{{{}}}", parameter["name"].as_str().unwrap()));
            assert_eq!(parameter["in"] == "path", is_in_path, "{at}: {parameter}");
            assert!(parameter["description"].as_str().is_some_and(|words| !words.is_empty()), "{at}: {parameter}");
        }
    }
}
