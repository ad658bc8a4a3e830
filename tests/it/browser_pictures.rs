//! Pictures of all pages, in a browser, on a desk and in a hand, light and dark: kept in target/screenshots. No script breaks,
//! nothing is refused by the content security policy, and nothing is wider than the window.

use std::path::Path;

use crate::support::{chromium::Chromium, showcase::showcase, visitor::KEEPER};

/// What reaches out of the window.
const WIDEST: &str = "return [...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > \
                      document.documentElement.clientWidth + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 200)).join('\\n')";

/// Signs in as somebody who may do everything.
async fn sign_in(browser: &Chromium, url: &str) {
    browser.go(&format!("{url}/login")).await;
    browser.fill("token", KEEPER).await;
    browser.press("Sign in").await;
    browser.sees("Look at this first").await;
}

/// What a page must never cause.
fn is_grave(complaint: &str) -> bool {
    ["Content Security Policy", "Uncaught", "Refused", "TypeError", "ReferenceError"]
        .iter()
        .any(|word| complaint.contains(word))
}

#[tokio::test]
async fn all_pages_look_well_in_a_browser() {
    let Some(browser) = Chromium::start().await else { return };
    let shown = showcase().await;
    let url = shown.desk.app.visitor().url().to_owned();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/screenshots");
    browser.go(&format!("{url}/login")).await;
    browser.picture(&folder.join("login-1400-light.png"), 1400, "light").await;
    sign_in(&browser, &url).await;
    let receipt = format!("/receipts/{}", shown.receipt);
    let pages = [
        ("overview", "/".to_owned()),
        ("receipts", "/receipts".to_owned()),
        ("receipt", receipt.clone()),
        ("deliveries", "/deliveries".to_owned()),
        ("dead-letters", "/dead-letters".to_owned()),
        ("lanes", "/lanes".to_owned()),
        ("conflicts", "/conflicts".to_owned()),
        ("conflict", "/conflicts/1".to_owned()),
        ("sources", "/sources".to_owned()),
        ("source", "/sources/github".to_owned()),
        ("destinations", "/destinations".to_owned()),
        ("audit", "/audit".to_owned()),
        ("replay", format!("{receipt}/replay")),
        ("nothing", "/search?q=nowhere".to_owned()),
        ("bulks", "/bulks".to_owned()),
    ];
    for (name, path) in &pages {
        browser.go(&format!("{url}{path}")).await;
        for (width, scheme) in [(1400, "light"), (1400, "dark"), (400, "light"), (400, "dark")] {
            browser.picture(&folder.join(format!("{name}-{width}-{scheme}.png")), width, scheme).await;
            let surplus = browser
                .script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
                .await;
            let widest = browser.script(WIDEST).await;
            assert_eq!(surplus, 0, "{name} is wider than {width}: {widest}");
        }
        let grave: Vec<String> =
            browser.complaints().await.into_iter().filter(|complaint| is_grave(complaint)).collect();
        assert!(grave.is_empty(), "{name}: {grave:?}");
    }
    browser.close().await;
}
