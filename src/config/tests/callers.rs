//! Who may send commands to an `api` source.

use super::*;

const TOKENS: [(&str, &str); 3] = [
    ("SHOP_TOKEN", "shop-f3a9c1d07e5b42861f00"),
    ("SHOP_TOKEN_OLD", "shop-old-f3a9c1d07e5b4286"),
    ("DEPOT_TOKEN", "depot-f3a9c1d07e5b42861f00"),
];

fn with_source(lines: &str) -> Case {
    Case::new(&format!("{SMALL}\n[sources.orders]\nprovider = \"api\"\n{lines}\n"), &TOKENS)
}

fn orders(lines: &str) -> Source {
    let config = with_source(lines).load().unwrap_or_else(|errors| panic!("{errors}")).config;
    config.sources[&"orders".parse().unwrap()].clone()
}

#[test]
fn callers_have_secrets_of_their_own() {
    let source = orders(
        r#"callers.shop = { secrets = [{ env = "SHOP_TOKEN" }, { env = "SHOP_TOKEN_OLD" }] }
callers.depot = { secrets = [{ env = "DEPOT_TOKEN" }] }"#,
    );
    let names: Vec<&str> = source.callers.iter().map(|caller| caller.name.as_str()).collect();
    assert_eq!(names, ["depot", "shop"]);
    assert_eq!(source.secrets.len(), 3);
    for secret in &source.secrets {
        let text = std::str::from_utf8(secret.expose()).unwrap();
        let caller = source.caller_of(secret.fingerprint()).unwrap();
        assert!(text.starts_with(caller.as_str()), "{caller}");
    }
    assert!(source.caller_of(crate::domain::Secret::new(b"another".to_vec()).fingerprint()).is_none());
    assert_eq!((source.conflict_status, source.body_bytes_max), (422, 1 << 20));
    assert_eq!(source.tolerance.as_secs(), 300);
}

#[test]
fn plain_secrets_are_those_of_the_caller_default() {
    let source = orders(r#"secrets = [{ env = "SHOP_TOKEN" }]"#);
    assert_eq!(source.caller_of(source.secrets[0].fingerprint()).unwrap().as_str(), "default");
}

#[test]
fn a_generated_secret_is_its_callers_and_kept_in_a_file_of_its_own() {
    let mut case = with_source(
        "callers.shop = { secrets = [{ generated = true }] }\ncallers.depot = { secrets = [{ generated = true }] }",
    );
    case.options.may_generate = true;
    let loaded = case.load().unwrap();
    let source = &loaded.config.sources[&"orders".parse().unwrap()];
    assert_eq!(loaded.generated.len(), 2);
    assert_eq!(source.secrets.len(), 2);
    for caller in &source.callers {
        assert_eq!(caller.secrets.len(), 1, "{}", caller.name);
        assert!(case.path(&format!("data/secrets/source-orders.{}", caller.name)).exists());
    }
    assert_ne!(source.callers[0].secrets, source.callers[1].secrets);
    let again = case.load().unwrap().config.sources[&"orders".parse().unwrap()].clone();
    assert_eq!(again.callers[0].secrets, source.callers[0].secrets, "the next start reads it");
}

#[test]
fn every_mistake_about_callers_is_named() {
    for (lines, problem) in [
        ("", "nobody could send"),
        ("callers = {}", "nobody could send"),
        ("callers.shop = {}", "0 secrets: a caller has 1 to 4"),
        ("callers.shop = { secrets = [] }", "0 secrets"),
        (r#"callers.Shop = { secrets = [{ env = "SHOP_TOKEN" }] }"#, "\"Shop\" is not usable"),
        (
            "callers.shop = { secrets = [{ env = \"SHOP_TOKEN\" }] }\nsecrets = [{ env = \"DEPOT_TOKEN\" }]",
            "whose it is",
        ),
        ("secrets = [{ env = \"SHOP_TOKEN\" }]\nallow_unsigned = true", "tells its callers apart"),
        ("secrets = [{ env = \"SHOP_TOKEN\" }]\non_conflict = 409", "422"),
        (
            "callers.shop = { secrets = [{ env = \"SHOP_TOKEN\" }] }\ncallers.other = { secrets = [{ env = \"SHOP_TOKEN\" }] }",
            "could tell the two apart",
        ),
        ("callers.shop = { secret = [{ env = \"SHOP_TOKEN\" }] }", "did you mean `secrets`?"),
    ] {
        let mistakes = with_source(lines).mistakes();
        assert!(mistakes.contains(problem) && mistakes.contains("sources.orders"), "{lines}: {mistakes}");
        assert!(!mistakes.contains("f3a9c1d07e5b4286"), "{mistakes}");
    }
    let many: String =
        (0..101).map(|n| format!("callers.c{n} = {{ secrets = [{{ env = \"SHOP_TOKEN\" }}] }}\n")).collect();
    assert!(with_source(&many).mistakes().contains("100 are the most"));
    let elsewhere = mistakes_with("secrets = [", "callers.shop = { secrets = [{ env = \"X\" }] }\nsecrets = [");
    assert!(elsewhere.contains("only an api source tells callers apart"), "{elsewhere}");
}
