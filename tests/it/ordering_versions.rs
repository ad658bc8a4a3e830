//! What is older than what: SQL, which decides, and Rust, which explains, say the same of any two events.

use oncehook::domain::{self, Chain, Version};
use proptest::{
    collection::vec, option, prelude::*, sample::select, strategy::ValueTree as _, test_runner::TestRunner,
};
use serde_json::{Value, json};

use crate::support::cluster::fresh_database;

/// Few values, so that equal ones and links of a chain are common.
fn stands() -> impl Strategy<Value = Option<Version>> {
    let states = option::of(select(vec!["a", "b", "c"]));
    let chains = option::of((states.clone(), states, any::<bool>())).prop_map(|chain| {
        let chain = chain.filter(|(from, to, _)| from.is_some() || to.is_some());
        let text = |state: Option<&str>| state.map(str::to_owned);
        chain.map(|(from, to, is_first)| Chain { from: text(from), to: text(to), is_first })
    });
    let versions = (select(vec!["one", "two"]), vec(-1..3_i64, 0..4), chains)
        .prop_map(|(scale, parts, chain)| Version { scale: scale.into(), parts, chain });
    option::weighted(0.9, versions)
}

/// Two events of one table: in a scale the chain comes first always, or never.
fn pairs() -> impl Strategy<Value = (Option<Version>, Option<Version>)> {
    (stands(), stands(), any::<bool>()).prop_map(|(mut one, mut other, is_first)| {
        for version in [&mut one, &mut other] {
            if let Some(chain) = version.as_mut().and_then(|version| version.chain.as_mut()) {
                chain.is_first = is_first;
            }
        }
        (one, other)
    })
}

/// What has no version is never stale.
fn is_stale(new: &Option<Version>, applied: &Option<Version>) -> bool {
    new.as_ref().zip(applied.as_ref()).is_some_and(|(new, applied)| domain::is_stale(new, applied))
}

fn row(version: Option<&Version>) -> Value {
    let chain = version.and_then(|version| version.chain.as_ref());
    json!({
        "version": version.map(|version| &version.parts),
        "version_scale": version.map(|version| &version.scale),
        "version_from": chain.map(|chain| &chain.from),
        "version_to": chain.map(|chain| &chain.to),
    })
}

#[tokio::test]
async fn sql_and_rust_agree_on_what_is_stale() {
    let database = fresh_database().await;
    let mut conn = database.connect().await;
    let mut runner = TestRunner::default();
    let (mut stale, mut total) = (0, 0);
    for _ in 0..20 {
        let pairs = vec((stands(), stands()), 500).new_tree(&mut runner).unwrap().current();
        let rows: Vec<Value> = pairs
            .iter()
            .map(|(new, applied)| {
                let chain = new.as_ref().and_then(|version| version.chain.as_ref());
                let is_first = chain.is_some_and(|chain| chain.is_first);
                json!({ "its": row(new.as_ref()), "first": is_first, "applied": row(applied.as_ref()) })
            })
            .collect();
        let said: Vec<bool> = sqlx::query_scalar(
            "select oncehook.is_stale(jsonb_populate_record(null::oncehook.applied_versions, p -> 'its'),
                                      (p ->> 'first')::boolean,
                                      jsonb_populate_record(null::oncehook.applied_versions, p -> 'applied'))
             from jsonb_array_elements($1) with ordinality e(p, place) order by place",
        )
        .bind(Value::from(rows))
        .fetch_all(&mut conn)
        .await
        .unwrap();
        for ((new, applied), said) in pairs.iter().zip(said) {
            assert_eq!(said, is_stale(new, applied), "SQL says {said} of {new:?} against {applied:?}");
            stale += usize::from(said);
            total += 1;
        }
    }
    assert_eq!(total, 10_000);
    assert!(stale > 1_000, "only {stale} pairs were stale: the test compares nothing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn an_event_is_never_stale_against_its_equal(stand in stands()) {
        prop_assert!(!is_stale(&stand, &stand.clone()));
    }

    #[test]
    fn of_two_events_one_at_most_is_stale((one, other) in pairs()) {
        prop_assert!(!(is_stale(&one, &other) && is_stale(&other, &one)));
    }

    #[test]
    fn what_cannot_be_compared_is_not_stale((one, other) in pairs()) {
        let is_comparable = one.as_ref().zip(other.as_ref()).is_some_and(|(one, other)| one.scale == other.scale);
        prop_assert!(is_comparable || !is_stale(&one, &other));
    }
}
