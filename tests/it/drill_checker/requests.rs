//! Violations between the senders and the receipts.

use super::{
    assert_red,
    scene::{Scene, answered, receipt, sent},
};

fn with_sent(n: u64, id: &str, body: &str, variant: &str, answer: (u16, Option<&str>)) -> Scene {
    let mut scene = Scene::clean();
    scene.sends.extend([sent(n, id, body, variant), answered(n, Some(answer.0), answer.1)]);
    scene
}

fn with_sql(sql: impl Into<String>) -> Scene {
    Scene { sql: sql.into(), ..Scene::clean() }
}

#[tokio::test]
async fn an_acknowledged_request_that_is_not_stored_is_found() {
    let scene = with_sent(10, "e10", "body", "new", (200, Some("accepted")));
    assert_red(scene, &["acknowledged is stored", "receipts add up"], "request #10 for e10").await;
    let scene = with_sent(10, "e10", "body", "new", (200, None));
    assert_red(scene, &["acknowledged is stored"], "answer to #10: 200 -").await;
}

#[tokio::test]
async fn a_stored_body_that_was_changed_is_found() {
    let scene = with_sql(format!("update oncehook.payloads set body = 'x' where receipt_id = '{}';", receipt(1)));
    assert_red(scene, &["acknowledged is stored", "stored was sent"], "request #1 for e1").await;
}

#[tokio::test]
async fn a_receipt_that_nobody_sent_is_found() {
    let mut scene = Scene::clean();
    scene.sends.retain(|line| line["n"] != 2 && line["n"] != 7);
    assert_red(scene, &["stored was sent", "receipts add up"], "(e2) holds a body that was not sent").await;
}

#[tokio::test]
async fn a_forged_request_that_is_stored_or_answered_with_2xx_is_found() {
    let scene = with_sent(10, "e10", "forged", "forged", (200, None));
    let red = ["acknowledged is stored", "nothing forged is stored"];
    assert_red(scene, &red, "request #10").await;
    // Under the id of a genuine event, kept as a conflict.
    let mut scene = with_sent(10, "e1", "forged body", "forged", (401, None));
    scene.sql = format!(
        "insert into oncehook.conflicts (receipt_id, arrived_at, event_type, body_digest, normalised_digest, headers, body)
         values ('{}', now(), 'push', sha256('forged body'), sha256('forged body'), '', 'forged body');",
        receipt(1)
    );
    assert_red(scene, &["nothing forged is stored", "conflicts are kept"], "forged request #6 is stored").await;
}

#[tokio::test]
async fn an_event_that_is_accepted_or_stored_twice_is_found() {
    let scene = with_sent(10, "e1", "body of e1", "duplicate", (200, Some("accepted")));
    assert_red(scene, &["one receipt per event"], "e1 was accepted 2 times").await;
    let scene = with_sql(
        "alter table oncehook.receipts drop constraint receipts_identity;
         insert into oncehook.receipts (id, source, delivery_id, event_type, received_at, recorded_at, body_digest,
                                        normalised_digest, body_bytes)
         select gen_random_uuid(), source, delivery_id, event_type, received_at, recorded_at, body_digest, normalised_digest, 1
         from oncehook.receipts where delivery_id = 'e1';",
    );
    let red = ["one receipt per event", "receipts add up", "deliveries add up"];
    assert_red(scene, &red, "e1 has 2 receipts").await;
}

#[tokio::test]
async fn a_receipt_whose_request_was_refused_is_found() {
    let mut scene = Scene::clean();
    scene.sends.retain(|line| line["n"] != 2);
    assert_red(scene, &["receipts add up"], "e2 was stored, but no request for it was accepted").await;
}

#[tokio::test]
async fn a_conflict_that_was_dropped_is_found() {
    let scene = with_sql("delete from oncehook.conflicts;");
    assert_red(scene, &["conflicts are kept"], "the other body of e3, request #5").await;
}

#[tokio::test]
async fn a_conflict_that_nobody_sent_is_found() {
    let mut scene = Scene::clean();
    scene.sends.retain(|line| line["n"] != 5);
    assert_red(scene, &["conflicts are kept"], "e3 keeps a conflict").await;
}

#[tokio::test]
async fn a_receipt_without_a_delivery_for_each_route_is_found() {
    let mut scene = Scene::clean();
    scene.plan["routes"].as_array_mut().unwrap().push(serde_json::json!({"name": "fourth", "source": "github"}));
    assert_red(scene, &["deliveries add up"], "e1 has deliveries on").await;
}
