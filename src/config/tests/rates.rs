//! Limits of destinations and routes.

use std::time::Duration;

use super::*;

fn destination(lines: &str) -> Case {
    Case::new(&SMALL.replace("kind = \"log\"", &format!("kind = \"log\"\n{lines}")), &[])
}

#[test]
fn a_destination_has_the_limits_that_are_written_and_no_others() {
    let limits = |lines: &str| {
        let config = destination(lines).load().unwrap_or_else(|errors| panic!("{errors}")).config;
        let demo = &config.destinations[&"demo".parse().unwrap()];
        (demo.concurrency, demo.pace)
    };
    assert_eq!(limits(""), (None, None));
    assert_eq!(limits("concurrency = 4\nrate_limit = \"90/m\""), (Some(4), Some(Duration::from_nanos(666_666_667))));
    assert_eq!(limits("rate_limit = \"2/h\""), (None, Some(Duration::from_secs(1_800))));
}

#[test]
fn a_limit_that_cannot_be_meant_is_refused() {
    for wrong in ["0", "10001", "\"4\"", "-1", "true"] {
        let text = destination(&format!("concurrency = {wrong}")).mistakes();
        assert!(text.contains(":8: destinations.demo.concurrency"), "{wrong}: {text}");
        let text = Case::new(&format!("{SMALL}concurrency = {wrong}\n"), &[]).mistakes();
        assert!(text.contains(":14: routes[0].concurrency"), "{wrong}: {text}");
    }
    for wrong in ["50", "\"50\"", "\"50/sec\"", "\"0/s\"", "\"10001/s\"", "\"\"", "[50]"] {
        let text = destination(&format!("rate_limit = {wrong}")).mistakes();
        assert!(text.contains("destinations.demo.rate_limit") && text.contains("50/s"), "{wrong}: {text}");
    }
    insta::assert_snapshot!(destination("rate_limit = \"50 per second\"").mistakes(), @r#"
    the configuration has a mistake

    FOLDER/oncehook.toml:8: destinations.demo.rate_limit
      problem: is "50 per second", which is no rate
      instead: write how many attempts may begin in a second, a minute or an hour, from "1/h" to "10000/s", such as "50/s"
    "#);
}
