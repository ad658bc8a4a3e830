//! Which secret of a source is still used: an old one is safe to drop when nobody signs with it any more.

use chrono::TimeDelta;

use crate::support::app::{GITHUB_SECRET, SHOP_TOKEN, STANDARD_SECRET, TestApp};

fn rotating() -> String {
    TestApp::config_with("[sources.github]", "").replace(
        "secrets = [{ env = \"GITHUB_SECRET\" }]",
        "secrets = [{ env = \"GITHUB_SECRET\" }, { env = \"STANDARD_SECRET\" }, { env = \"SHOP_TOKEN\" }]",
    )
}

#[tokio::test]
async fn a_source_tells_which_of_its_secrets_are_used_and_which_is_safe_to_drop() {
    let app = TestApp::start_from(&rotating()).await;
    let desk = app.desk_to_look();
    let push = app.sender().push("main");
    push.send().await;
    push.send().await;
    app.sender().push("x").signed_with("nobody's secret, 0123456789").send().await;
    app.write_figures().await;
    let source = desk.source("github").await.unwrap();
    let uses: Vec<_> = source.secrets.iter().map(|secret| (secret.uses, secret.advice.as_str())).collect();
    assert_eq!(
        uses,
        [(2, "in use"), (0, "not used yet"), (0, "not used yet")],
        "duplicates count, refused ones do not"
    );

    app.advance(TimeDelta::days(2)).await;
    app.sender().push("y").signed_with(STANDARD_SECRET).send().await;
    app.write_figures().await;
    let source = desk.source("github").await.unwrap();
    let [old, new, third] = &source.secrets[..] else { panic!("{:?}", source.secrets) };
    assert!(old.advice.ends_with(&format!("while {} is: safe to drop", new.fingerprint)), "{}", old.advice);
    assert_eq!((new.advice.as_str(), third.advice.as_str()), ("in use", "not used yet"));
    assert!(old.first_used_at == old.last_used_at && new.last_used_at > old.last_used_at);
    assert_eq!(source.last_day, [("accepted".to_owned(), 1)], "of the last 24 hours only");
    assert!(source.last_receipt_at.unwrap() > app.clock().now() - TimeDelta::minutes(1));

    let json = serde_json::to_string(&desk.sources().await.unwrap()).unwrap();
    assert!([GITHUB_SECRET, STANDARD_SECRET, SHOP_TOKEN].iter().all(|secret| !json.contains(secret)));
    app.run_until_idle().await;
}

#[tokio::test]
async fn a_secret_that_was_taken_out_of_the_configuration_is_still_listed() {
    let app = TestApp::start().await;
    let gone = "insert into oncehook.secret_uses values ('github', '0a1b2c3d', now(), now(), 7)";
    sqlx::query(gone).execute(&mut app.database().await).await.unwrap();
    let source = app.desk_to_look().source("github").await.unwrap();
    let [gone, known] = &source.secrets[..] else { panic!("{:?}", source.secrets) };
    assert!(!gone.is_configured && gone.uses == 7 && known.is_configured, "{gone:?}");
    assert_eq!(source.routes, ["github-demo"]);
    assert!(source.last_receipt_at.is_none() && source.last_day.is_empty());
}

#[tokio::test]
async fn sources_are_listed_by_name_and_one_that_is_not_there_is_not_found() {
    let app = TestApp::start().await;
    let names: Vec<_> = app.desk_to_look().sources().await.unwrap().into_iter().map(|line| line.source).collect();
    assert_eq!(names, ["github", "standard", "stripe"]);
    let error = app.desk_to_look().source("gitlab").await.unwrap_err();
    assert_eq!(error.to_string(), "there is no source \"gitlab\"");
}
