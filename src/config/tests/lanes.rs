//! What routes say about their lanes, and which keys mean nothing together.

use std::time::Duration;

use super::*;
use crate::route::Routes;

/// `SMALL` with lines at the end of its route, and a second destination.
fn with(lines: &str) -> Case {
    Case::new(&format!("{SMALL}{lines}\n[destinations.refunds]\nkind = \"log\"\n"), &[])
}

fn route(lines: &str) -> Route {
    with(lines).load().unwrap_or_else(|errors| panic!("{errors}")).config.routes.remove(0)
}

#[test]
fn a_route_says_nothing_about_its_lanes_unless_it_does() {
    let plain = route("");
    assert_eq!((plain.order, &plain.ordering_key), (Order::Arrival, &KeyFrom::Auto));
    assert_eq!(
        (plain.on_stale, plain.reorder_window, plain.on_dead),
        (OnStale::Skip, Duration::ZERO, OnDead::Continue)
    );
    assert_eq!((plain.on_dead_destination, plain.concurrency), (None, None));

    let full = route(
        "order = \"event\"\non_stale = \"deliver\"\nreorder_window = \"3s\"\non_dead = \"block\"\n\
         on_dead_destination = \"refunds\"\nconcurrency = 8\nordering_key = \"/repository/id\"",
    );
    assert_eq!((full.order, full.ordering_key), (Order::Event, KeyFrom::Pointer("/repository/id".to_owned())));
    assert_eq!((full.on_stale, full.on_dead), (OnStale::Deliver, OnDead::Block));
    assert_eq!((full.reorder_window, full.concurrency), (Duration::from_secs(3), Some(8)));
    assert_eq!(full.on_dead_destination, Some("refunds".parse().unwrap()));
}

#[test]
fn a_compensation_counts_as_a_way_to_its_destination() {
    let warnings = |lines: &str| with(lines).load().unwrap().config.warnings;
    assert!(warnings("").iter().any(|warning| warning.contains("refunds")));
    assert_eq!(warnings("on_dead_destination = \"refunds\""), Vec::<String>::new());
}

#[test]
fn keys_that_mean_nothing_together_are_refused() {
    for (lines, key) in [
        ("on_stale = \"skip\"", "on_stale"),
        ("reorder_window = \"3s\"", "reorder_window"),
        ("order = \"none\"\non_stale = \"deliver\"", "on_stale"),
        ("order = \"none\"\non_dead = \"block\"", "on_dead"),
        ("order = \"none\"\nordering_key = \"/id\"", "ordering_key"),
        ("order = \"event\"\nreorder_window = \"6m\"", "reorder_window"),
        ("order = \"event\"\nreorder_window = 3", "reorder_window"),
        ("order = \"event\"\non_stale = \"drop\"", "on_stale"),
        ("on_dead = \"stop\"", "on_dead"),
        ("on_dead_destination = \"demo\"", "on_dead_destination"),
        ("on_dead_destination = 7", "on_dead_destination"),
    ] {
        let text = with(lines).mistakes();
        assert!(text.contains("has a mistake") && text.contains(&format!("routes[0].{key}\n")), "{lines}: {text}");
    }
    for good in
        ["order = \"none\"\non_dead = \"continue\"", "order = \"none\"\nordering_key = \"auto\"\nconcurrency = 1"]
    {
        let _ = route(good);
    }
}

#[test]
fn what_to_write_instead_is_told_with_the_mistake() {
    let several = "order = \"none\"\non_dead = \"block\"\non_stale = \"skip\"\non_dead_destination = \"refund\"";
    insta::assert_snapshot!(with(several).mistakes(), @r#"
    the configuration has 3 mistakes

    FOLDER/oncehook.toml:15: routes[0].on_dead
      problem: is "block", but with order = "none" there is no lane to block
      instead: remove it, or write order = "arrival" or "event"

    FOLDER/oncehook.toml:16: routes[0].on_stale
      problem: has no meaning in this route: only order = "event" looks at the provider's event time
      instead: remove it, or write order = "event" (docs/ordering.md says what that does)

    FOLDER/oncehook.toml:17: routes[0].on_dead_destination
      problem: is "refund", but there is no such destination: the route would lead nowhere
      instead: did you mean "refunds"?
    "#);
    insta::assert_snapshot!(with("on_dead_destination = \"demo\"").mistakes(), @r#"
    the configuration has a mistake

    FOLDER/oncehook.toml:14: routes[0].on_dead_destination
      problem: is the route's own destination, where the delivery has just failed for good
      instead: name another destination: one that can be told when this one fails for good
    "#);
    insta::assert_snapshot!(with("ordering_key = \"repository.id\"").mistakes(), @r#"
    the configuration has a mistake

    FOLDER/oncehook.toml:14: routes[0].ordering_key
      problem: speaks of "repository", which does not exist
      instead: did you mean payload.repository? An expression sees payload, event and source
    "#);
    insta::assert_snapshot!(with("ordering_key = \"/a~b\"").mistakes(), @r#"
    the configuration has a mistake

    FOLDER/oncehook.toml:14: routes[0].ordering_key
      problem: has a tilde without 0 or 1 behind it
      instead: write a JSON pointer, such as "/repository/id": names after slashes, with ~1 for a slash and ~0 for a tilde within a name
    "#);
}

#[test]
fn an_ordering_key_that_is_loaded_can_be_used() {
    for (written, from) in [
        ("\"auto\"", KeyFrom::Auto),
        ("\"/a/b~1c/0\"", KeyFrom::Pointer("/a/b~1c/0".to_owned())),
        ("\"/\"", KeyFrom::Pointer("/".to_owned())),
        ("'event + payload.id'", KeyFrom::Expression("event + payload.id".to_owned())),
    ] {
        let route = route(&format!("ordering_key = {written}"));
        assert_eq!(route.ordering_key, from);
        assert!(Routes::compile(&[route]).is_ok(), "{written}");
    }
    for wrong in ["\"\"", "\"a/b\"", "\"payload.\"", "\"pyload.id\"", "\"nofunction(payload)\"", "\"/~\"", "5"] {
        let text = with(&format!("ordering_key = {wrong}")).mistakes();
        assert!(text.contains(":14: routes[0].ordering_key"), "{wrong}: {text}");
    }
}

#[test]
fn a_check_tells_what_a_route_does_with_its_lanes() {
    let summary =
        check(&with("order = \"event\"\non_dead = \"block\"\non_dead_destination = \"refunds\"").options).summary;
    let told = "route all: github [*] → demo, in order of event time, a dead delivery blocks its lane, dead deliveries are told to refunds";
    assert!(summary.contains(&told.to_owned()), "{summary:?}");
}
