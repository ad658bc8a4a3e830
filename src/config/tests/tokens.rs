//! Tokens of operators, and who may reach the port that they open.

use super::*;
use crate::operate::Role;

const GOOD: &str = "deploy-6f1d2c3b4a5968778695a4b3";

/// The mistakes of `SMALL` with lines under [admin].
fn mistakes(lines: &str, variables: &[(&str, &str)]) -> String {
    let case = Case::new(&format!("[admin]\n{lines}\n{SMALL}"), variables);
    case.mistakes()
}

#[test]
fn a_token_has_a_name_a_role_and_a_secret() {
    let lines = "tokens.deploy = { role = \"operate\", secret = { env = \"DEPLOY\" } }\n\
                 tokens.grafana = { role = \"read\", secret = { env = \"GRAFANA\" } }";
    let case =
        Case::new(&format!("[admin]\n{lines}\n{SMALL}"), &[("DEPLOY", GOOD), ("GRAFANA", "grafana-0123456789abcdef")]);
    let admin = case.load().unwrap().config.admin;
    let tokens: Vec<_> = admin.tokens.iter().map(|token| (token.name.as_str(), token.role)).collect();
    assert_eq!(tokens, [("deploy", Role::Operate), ("grafana", Role::Read)]);
    assert!(!format!("{admin:?}").contains(GOOD));
    assert!(!admin.no_auth);
}

#[test]
fn an_operators_shell_needs_none_of_the_tokens() {
    let lines = "tokens.deploy = { role = \"operate\", secret = { env = \"DEPLOY\" } }";
    let case = Case::new(&format!("[admin]\n{lines}\n{SMALL}"), &[]);
    assert!(case.load().is_err());
    assert_eq!(load_to_look(&case.options).unwrap().admin.tokens.len(), 0);
}

#[test]
fn a_token_that_lets_in_whom_it_should_not_is_refused() {
    let token =
        |name: &str, role: &str| format!("tokens.{name} = {{ role = \"{role}\", secret = {{ env = \"DEPLOY\" }} }}");
    for (lines, secret, expected) in [
        (token("deploy", "admin"), GOOD, "is \"admin\", which is no role"),
        (token("anyone", "read"), GOOD, "the name anyone stands for everybody"),
        (token("Deploy", "read"), GOOD, "the name \"Deploy\" is not usable"),
        (token("deploy", "read"), "short", "has 5 bytes; 16 are the least"),
        (token("deploy", "read"), "changeme", "is a placeholder"),
        (token("deploy", "read"), "with spaces 0123456789", "holds spaces"),
        (token("deploy", "read"), CANARY, "is the secret of the source github too"),
        (token("a", "read") + "\n" + &token("b", "read"), GOOD, "is the secret of the token a too"),
        ("tokens.a = { role = \"read\" }".to_owned(), GOOD, "admin.tokens.a.secret"),
        ("tokens.a = { secret = { env = \"DEPLOY\" } }".to_owned(), GOOD, "admin.tokens.a.role"),
        ("tokens.a = { role = \"read\", secret = { generated = true } }".to_owned(), GOOD, "oncehook tokens create a"),
        ("tokens.a = { role = \"read\", secret = \"written-out-0123456789\" }".to_owned(), GOOD, "is written out here"),
    ] {
        let told = mistakes(&lines, &[("DEPLOY", secret)]);
        assert!(told.contains(expected), "{expected:?} in {told}");
        assert!(!told.contains(secret) || secret.len() < 10, "{told}");
    }
}

#[test]
fn the_ports_address_is_a_page_and_a_session_ends() {
    for (lines, expected) in [
        ("public_url = \"hooks.example.com\"", "is no address of a web page"),
        ("public_url = \"ftp://example.com\"", "is no address of a web page"),
        ("public_url = \"https://example.com/hooks\"", "holds more than a host and a port"),
        ("public_url = \"https://u:p@example.com\"", "holds more than a host and a port"),
        ("session_idle = \"2h\"\nsession_max = \"1h\"", "lets a session rest for longer than it lasts"),
        ("session_max = \"20m\"", "lets a session rest for longer than it lasts"),
        ("session_idle = \"1s\"", "out of bounds"),
    ] {
        let told = mistakes(lines, &[]);
        assert!(told.contains(expected), "{expected:?} in {told}");
    }
}

#[test]
fn a_port_that_others_can_reach_is_remarked_on_unless_tls_is_in_front() {
    let warnings = |lines: &str| Case::new(&format!("[admin]\n{lines}\n{SMALL}"), &[]).load().unwrap().config.warnings;
    assert!(warnings("listen = \"0.0.0.0:8081\"")[0].contains("put a proxy with TLS in front"));
    assert!(warnings("listen = \"0.0.0.0:8081\"\npublic_url = \"http://example.com\"")[0].contains("TLS"));
    assert_eq!(warnings("listen = \"0.0.0.0:8081\"\npublic_url = \"https://example.com\""), Vec::<String>::new());
    assert_eq!(warnings("listen = \"127.0.0.1:8081\""), Vec::<String>::new());
}
