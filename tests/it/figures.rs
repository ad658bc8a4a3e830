//! Figures by minute: everything is counted once, whatever becomes of the process's way to the database.

use std::time::Duration;

use chrono::TimeDelta;
use oncehook::{
    clock::Clock,
    figures::{Figures, prune_figures_once},
    intake::Turnout,
    operate::{Series, StatsQuery},
};
use sqlx::postgres::PgPoolOptions;

use crate::support::{
    app::TestApp,
    bench::Bench,
    cluster::fresh_database,
    script::Step,
    wire::{Cut, Wire},
};

fn counts(series: &Series) -> Vec<(&str, i64)> {
    series.sums.iter().map(|(what, count)| (what.as_str(), *count)).collect()
}

#[tokio::test]
async fn what_comes_in_and_what_goes_out_is_counted_by_minute_source_and_destination() {
    let app = TestApp::start().await;
    let sender = app.sender();
    let push = sender.push("main");
    push.send().await;
    push.send().await;
    sender.push("main").unsigned().send().await;
    sender.push("main").source("nobody").send().await;
    app.run_until_idle().await;
    app.write_figures().await;
    app.advance(TimeDelta::minutes(2)).await;
    sender.push("later").send().await;
    app.run_until_idle().await;
    app.write_figures().await;
    app.write_figures().await;

    let stats = app.desk_to_look().stats(&StatsQuery::default()).await.unwrap();
    assert_eq!(counts(&stats.by_source["github"]), [("accepted", 2), ("duplicate", 1), ("unverified", 1)]);
    assert_eq!(counts(&stats.by_source["stripe"]), []);
    assert_eq!(stats.total.sums["unknown_source"], 1);
    assert_eq!(counts(&stats.by_destination["demo"]), [("succeeded", 2)]);
    let github = &stats.by_source["github"];
    let accepted: Vec<_> = github.points.iter().filter_map(|point| point.counts.get("accepted")).collect();
    assert_eq!(accepted, [&1, &1], "each in its minute");
    assert!(github.answer.p50_ms.is_some() && stats.by_destination["demo"].done.p99_ms.is_some());
    assert!((60..=61).contains(&github.points.len()), "an hour of minutes: {}", github.points.len());
    assert_eq!(stats.backlog.deliveries, [("dead".to_owned(), 0)].into());

    let only = StatsQuery { source: Some("github".to_owned()), ..StatsQuery::default() };
    let stats = app.desk_to_look().stats(&only).await.unwrap();
    assert!(stats.by_destination.is_empty() && stats.by_source.len() == 1 && stats.total == stats.by_source["github"]);
    let month = StatsQuery { since: Some(app.clock().now() - TimeDelta::days(30)), ..StatsQuery::default() };
    let stats = app.desk_to_look().stats(&month).await.unwrap();
    assert_eq!((stats.step_seconds % 3_600, stats.total.sums["accepted"]), (0, 2), "by the rows of hours");
}

/// The flush was committed, and the process did not hear of it; or the statement never arrived.
#[tokio::test]
async fn a_writing_whose_outcome_is_unknown_is_added_once() {
    for (cut, marker) in
        [(Cut::AfterItsCommit, "COMMIT"), (Cut::BeforeItArrives, "COMMIT"), (Cut::BeforeItArrives, "figures")]
    {
        let database = fresh_database().await;
        let wire = Wire::to(&database).await;
        let pool = PgPoolOptions::new().max_connections(1).connect(&wire.url()).await.unwrap();
        let figures = Figures::new(Clock::system());
        let github = "github".parse().unwrap();
        figures.answered(Some(&github), Turnout::Accepted, Duration::from_millis(3));
        wire.cut_once(cut, marker);
        figures.flush(&pool).await.unwrap_err();
        assert!(wire.has_cut(), "{cut:?} {marker}");
        figures.answered(Some(&github), Turnout::Accepted, Duration::from_millis(3));
        // A connection of the pool may be found broken once more.
        while figures.flush(&pool).await.is_err() {}
        let sums = "select sum((counts ->> 'accepted')::int), sum(n)::bigint from oncehook.figures,
                    lateral (select sum(value::bigint) n from jsonb_each_text(latency)) l where grain = 'minute'";
        let sums: (i64, i64) = sqlx::query_as(sums).fetch_one(&mut database.connect().await).await.unwrap();
        assert_eq!(sums, (2, 2), "{cut:?} {marker}");
    }
}

#[tokio::test]
async fn a_process_that_stops_writes_what_it_has_counted() {
    let mut app = TestApp::start().await;
    app.sender().push("main").send().await;
    app.run_until_idle().await;
    app.stop().await;
    let counted = "select count(*) from oncehook.figures where grain = 'minute' and name in ('github', 'demo')";
    assert_eq!(app.count(counted).await, 2);
    assert_eq!(app.count("select count(*) from oncehook.secret_uses").await, 1);
}

#[tokio::test]
async fn figures_of_several_processes_add_up() {
    let bench = Bench::new().await;
    let processes: Vec<_> = (0..4).map(|_| Figures::new(Clock::system())).collect();
    let (github, stripe) = ("github".parse().unwrap(), "stripe".parse().unwrap());
    for _ in 0..5 {
        let flushes = processes.iter().map(|figures| {
            figures.answered(Some(&stripe), Turnout::Accepted, Duration::from_millis(1));
            figures.answered(Some(&github), Turnout::Duplicate, Duration::from_millis(1));
            figures.answered(None, Turnout::UnknownSource, Duration::ZERO);
            figures.flush(bench.pool())
        });
        futures_util::future::try_join_all(flushes).await.unwrap();
    }
    for (what, name) in [("accepted", "stripe"), ("duplicate", "github"), ("unknown_source", "")] {
        for grain in ["minute", "hour"] {
            let sum = "select sum((counts ->> $1)::int) from oncehook.figures where name = $2 and grain = $3";
            let sum = sqlx::query_scalar::<_, i64>(sum).bind(what).bind(name).bind(grain);
            assert_eq!(sum.fetch_one(bench.pool()).await.unwrap(), 20, "{what} by {grain}");
        }
    }
}

#[tokio::test]
async fn prometheus_gets_how_long_answers_and_deliveries_took_under_names_of_the_configuration() {
    let app = TestApp::start().await;
    app.sender().push("main").send().await;
    app.sender().push("main").source("nobody").send().await;
    app.sender().push("main").unsigned().send().await;
    app.run_until_idle().await;
    let reply = app.sender().get(&format!("http://{}/metrics", app.app().admin_address())).await;
    for line in [
        "oncehook_answer_seconds_bucket{source=\"github\",le=\"+Inf\"} 1\n",
        "oncehook_answer_seconds_count{source=\"github\"} 1\n",
        "oncehook_done_seconds_bucket{destination=\"demo\",le=\"86400\"} 1\n",
        "oncehook_done_seconds_count{destination=\"demo\"} 1\n",
    ] {
        assert!(reply.text.contains(line), "{line}: {}", reply.text);
    }
    assert!(!reply.text.contains("\"nobody\""), "{}", reply.text);
}

#[tokio::test]
async fn attempts_that_fail_and_dead_letters_are_counted_with_their_outcome() {
    let bench = Bench::new().await;
    let (failing, dying) = (bench.record(Some("a")).await, bench.record(Some("b")).await);
    bench.script.plan(failing, [Step::Fail]);
    bench.script.plan(dying, [Step::Reject]);
    bench.drain().await;
    bench.set_clock(3_600).await;
    bench.drain().await;
    bench.record(Some("c")).await;
    bench.run_sql("delete from oncehook.payloads").await;
    bench.drain().await;
    bench.ctx.figures.flush(bench.pool()).await.unwrap();
    let counts =
        "select counts from oncehook.figures where kind = 'destination' and name = 'deployer' and grain = 'hour'";
    let counts: serde_json::Value = sqlx::query_scalar(counts).fetch_one(bench.pool()).await.unwrap();
    assert_eq!(counts, serde_json::json!({ "failed": 1, "rejected": 2, "dead": 2, "succeeded": 1 }));
}

#[tokio::test]
async fn figures_are_deleted_after_the_longest_range_and_marks_of_old_processes_with_them() {
    let bench = Bench::new().await;
    bench.ctx.figures.answered(None, Turnout::UnknownSource, Duration::ZERO);
    bench.ctx.figures.flush(bench.pool()).await.unwrap();
    assert_eq!(prune_figures_once(bench.pool()).await.unwrap(), 0);
    bench.set_clock(33 * 86_400).await;
    assert_eq!(prune_figures_once(bench.pool()).await.unwrap(), 3, "a minute, an hour and a mark");
    assert_eq!(bench.count("select count(*) from oncehook.figures").await, 0);
}

/// A month of minutes of 5 names, and a backlog: what the overview asks for reads no table from end to end but `figures`,
/// and of that what it sums.
#[tokio::test]
async fn the_overview_finds_what_it_counts_by_index() {
    let bench = Bench::new().await;
    for sql in [
        "insert into oncehook.figures select 'minute', now() - n * interval '1 minute', 'source', 'source ' || s,
         '{\"accepted\": 1}', '{\"40\": 1}' from generate_series(1, 40000) n, generate_series(1, 5) s",
        "with r as (insert into oncehook.receipts (id, source, delivery_id, event_type, received_at, body_digest,
                                                   normalised_digest, body_bytes)
                    select gen_random_uuid(), 'github', n::text, 'push', now(), sha256(''), sha256(''), 2
                    from generate_series(1, 50000) n returning id, delivery_id)
         insert into oncehook.deliveries (id, receipt_id, route, destination, ordering_key, state, finished_at)
         select gen_random_uuid(), id, 'deploy', 'deployer', 'lane', case delivery_id::int % 100 when 0 then 'dead'
                when 1 then 'waiting' else 'succeeded' end,
                case when delivery_id::int % 100 <> 1 then now() end from r",
        "analyze",
    ] {
        bench.run_sql(sql).await;
    }
    let mut tx = bench.pool().begin().await.unwrap();
    let read = "select coalesce(sum(seq_scan), 0)::bigint from pg_stat_xact_user_tables
                where relname in ('figures', 'deliveries', 'receipts')";
    let before: i64 = sqlx::query_scalar(read).fetch_one(&mut *tx).await.unwrap();
    let routes = ["deploy".to_owned()];
    for _ in 0..6 {
        let states = oncehook::store::pending::count_states(&mut tx, 100_000).await.unwrap();
        assert!(states.iter().any(|state| state.state == "waiting" && state.count == 500 && state.oldest.is_some()));
        assert!(states.iter().any(|state| state.state == "dead" && state.count == 500));
        oncehook::store::pending::count_stopped(&mut tx, 10_000).await.unwrap();
        let of_routes = oncehook::store::pending::pending_of_routes(&mut tx, &routes, 400).await.unwrap();
        assert_eq!((of_routes[0].unfinished, of_routes[0].dead), (400, 400), "counted up to a bound");
        let to = oncehook::store::pending::pending_to_destination(&mut tx, "deployer", &routes, 10_000).await.unwrap();
        assert_eq!((to.unfinished, to.dead), (500, 500));
        let until = Clock::system().now() + TimeDelta::minutes(1);
        let range = oncehook::store::figure_sums::FigureRange {
            since: until - TimeDelta::hours(1),
            until,
            step_seconds: 60,
            sources: oncehook::store::figure_sums::Which::All,
            destinations: oncehook::store::figure_sums::Which::All,
        };
        let sums = oncehook::store::figure_sums::sum_figures(&mut tx, range).await.unwrap();
        assert!(sums.len() >= 58 * 10, "{}", sums.len());
    }
    assert_eq!(sqlx::query_scalar::<_, i64>(read).fetch_one(&mut *tx).await.unwrap(), before);
}
