//! A small drill that never happened: journals and rows as a faultless run leaves them, for tests to plant one violation in.
//!
//! Three events, `e1` and `e2` with the key `a`, `e3` with the key `b`; three routes, one to each sink. `e1` met a kill -9 on its
//! way to the naive sink, `e3` a 500; the answer to `e2` was lost, and `e3` came again with another body.

use std::path::Path;

use oncehook::{
    domain::{DeliveryRef, ReceiptId},
    drill::checker::{Verdict, check},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::support::cluster::fresh_database;

/// When it began, in microseconds since 1970.
const BEGIN_US: i64 = 1_767_225_600_000_000;

pub const ROUTES: [&str; 3] = ["naive", "idempotent", "ledger"];

pub struct Scene {
    pub sends: Vec<Value>,
    pub naive: Vec<Value>,
    pub idempotent: Vec<Value>,
    pub faults: Vec<Value>,
    pub sink_faults: Vec<Value>,
    pub plan: Value,
    /// Run after the clean rows are there.
    pub sql: String,
}

/// Seconds after the beginning.
pub fn at(seconds: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "some seconds in microseconds")]
    let micros = (seconds * 1e6) as i64;
    BEGIN_US + micros
}

pub fn sha(body: &str) -> String {
    hex::encode(Sha256::digest(body))
}

pub fn receipt(event: u128) -> Uuid {
    Uuid::from_u128(0x1000 + event)
}

pub fn delivery(event: u128, route: u128) -> Uuid {
    Uuid::from_u128(0x2000 + 0x10 * event + route)
}

pub fn sent(n: u64, event: &str, body: &str, variant: &str) -> Value {
    json!({"n": n, "phase": "before", "at_us": at(0.5), "receiver": "r1", "source": "github", "delivery_id": event, "key": "a",
           "seq_in_key": 1, "event_time": null, "body_sha256": sha(body), "variant": variant, "hostile": null})
}

pub fn answered(n: u64, status: Option<u16>, state: Option<&str>) -> Value {
    json!({"n": n, "phase": "after", "at_us": at(4.0), "status": status, "state": state})
}

pub fn call(event: u128, route: u128, attempt: i32, seconds: f64, effect: bool) -> Value {
    let id = format!("e{event}");
    json!({"at_us": at(seconds), "delivery": DeliveryRef::from(delivery(event, route)).to_string(),
           "receipt": ReceiptId::from(receipt(event)).to_string(), "attempt": attempt, "source": "github", "delivery_id": id,
           "ordering_key": "a", "body_sha256": sha(&format!("body of {id}")), "effect": effect})
}

impl Scene {
    pub fn clean() -> Self {
        let mut sends = Vec::new();
        for (n, id, body, variant, status, state) in [
            (1, "e1", "body of e1", "new", Some(200), Some("accepted")),
            (2, "e2", "body of e2", "new", None, None),
            (3, "e1", "body of e1", "duplicate", Some(200), Some("duplicate")),
            (4, "e3", "body of e3", "new", Some(200), Some("accepted")),
            (5, "e3", "other body of e3", "conflict", Some(409), Some("conflict")),
            (6, "e6", "forged body", "forged", Some(401), None),
            (7, "e2", "body of e2", "duplicate", Some(200), Some("duplicate")),
        ] {
            sends.extend([sent(n, id, body, variant), answered(n, status, state)]);
        }
        // Its sender was killed before it had an answer.
        sends.push(sent(8, "e8", "body of e8", "new"));
        let classes = ["sigterm", "sigstop", "pg_immediate", "backend_kill"];
        let late =
            |class| json!({"at_us": at(50.0), "until_us": at(51.0), "fault": class, "target": "worker-2", "pid": 88});
        let mut faults: Vec<_> = classes.map(late).to_vec();
        faults.push(json!({"at_us": at(10.2), "until_us": null, "fault": "kill9", "target": "worker-1", "pid": 77}));
        let misbehaviour =
            |class, event| json!({"fault": class, "delivery": DeliveryRef::from(delivery(event, 0)).to_string()});
        Self {
            sends,
            naive: vec![
                call(1, 0, 1, 10.1, true),
                call(1, 0, 2, 12.1, true),
                call(3, 0, 1, 10.1, false),
                call(3, 0, 2, 12.1, true),
                call(2, 0, 1, 13.1, true),
            ],
            idempotent: vec![call(1, 1, 1, 10.1, true), call(3, 1, 1, 10.1, true), call(2, 1, 1, 13.1, true)],
            faults,
            sink_faults: vec![misbehaviour("sink_500", 3), misbehaviour("sink_hang", 9), misbehaviour("sink_reset", 9)],
            plan: json!({"seed": 1, "routes": ROUTES.map(|name| json!({"name": name, "source": "github"}))}),
            sql: String::new(),
        }
    }

    pub async fn verdicts(&self) -> Vec<Verdict> {
        let database = fresh_database().await;
        let mut connection = database.connect().await;
        let sql = format!("{}{}", clean_rows(), self.sql);
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        let home = tempfile::tempdir().unwrap();
        write_lines(&home.path().join("sends.jsonl"), &self.sends, r#"{"n":9,"phase":"bef"#);
        write_lines(&home.path().join("effects-naive.jsonl"), &self.naive, "");
        write_lines(&home.path().join("effects-idempotent.jsonl"), &self.idempotent, r#"{"at_"#);
        write_lines(&home.path().join("faults.jsonl"), &self.faults, "");
        write_lines(&home.path().join("faults-sinks.jsonl"), &self.sink_faults, "");
        std::fs::write(home.path().join("drill.json"), self.plan.to_string()).unwrap();
        check(home.path(), database.url()).await.unwrap()
    }
}

fn write_lines(path: &Path, lines: &[Value], torn: &str) {
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(path, lines + torn).unwrap();
}

fn clean_rows() -> String {
    let mut sql = "create schema drill;
        create table drill.ledger (n bigserial, delivery text, receipt text, delivery_id text, ordering_key text,
                                   body_sha256 text, at timestamptz);"
        .to_owned();
    for event in 1..=3 {
        let (id, body) = (receipt(event), format!("body of e{event}"));
        sql += &format!(
            "insert into oncehook.receipts (id, source, delivery_id, event_type, received_at, recorded_at, body_digest,
                                            normalised_digest, body_bytes)
             values ('{id}', 'github', 'e{event}', 'push', now(), {}, sha256('{body}'), sha256('{body}'), 1);
             insert into oncehook.payloads values ('{id}', '', '{body}');",
            time(1.0)
        );
    }
    sql += &format!(
        "insert into oncehook.conflicts (receipt_id, arrived_at, event_type, body_digest, normalised_digest, headers, body)
         values ('{}', now(), 'push', sha256('other body of e3'), sha256('other body of e3'), '', 'other body of e3');",
        receipt(3)
    );
    for (event, seq, key, begin) in [(1, 1, "a", 10.0), (2, 2, "a", 13.0), (3, 3, "b", 10.0)] {
        for (route, name) in (0..).zip(ROUTES) {
            // Two attempts, of which the first lost its outcome, where a fault was met.
            let has_met_fault = route == 0 && event != 2;
            let end = if has_met_fault { begin + 2.5 } else { begin + 0.5 };
            let id = delivery(event, route);
            sql += &format!(
                "insert into oncehook.deliveries (id, seq, receipt_id, route, destination, ordering_key, state, attempts, finished_at)
                 overriding system value values ('{id}', {seq} * 10 + {route}, '{}', '{name}', '{name}', '{key}', 'succeeded',
                 1, {});",
                receipt(event),
                time(end)
            );
            if has_met_fault {
                let (pid, outcome) = if event == 1 { (77, "unknown") } else { (88, "failed") };
                sql += &attempt(id, 1, pid, begin, begin + 2.0, outcome);
                sql += &attempt(id, 2, 88, begin + 2.0, end, "succeeded");
            } else {
                sql += &attempt(id, 1, 88, begin, end, "succeeded");
            }
        }
        sql += &entry(event, begin + 0.1);
    }
    sql
}

pub fn time(seconds: f64) -> String {
    format!("'epoch'::timestamptz + interval '{} microseconds'", at(seconds))
}

pub fn entry(event: u128, seconds: f64) -> String {
    format!(
        "insert into drill.ledger (delivery, receipt, delivery_id, ordering_key, body_sha256, at)
         values ('{}', '{}', 'e{event}', 'a', '{}', {});",
        DeliveryRef::from(delivery(event, 2)),
        ReceiptId::from(receipt(event)),
        sha(&format!("body of e{event}")),
        time(seconds)
    )
}

pub fn attempt(delivery: Uuid, number: i32, pid: u32, begin: f64, end: f64, outcome: &str) -> String {
    format!(
        "insert into oncehook.attempts (id, delivery, number, trigger, worker, started_at, finished_at, outcome)
         values (gen_random_uuid(), '{delivery}', {number}, 'automatic', 'host/{pid}/x/0-0', {}, {}, '{outcome}');",
        time(begin),
        time(end)
    )
}
