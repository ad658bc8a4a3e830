//! Scenes in which an event comes more than once.

use super::stage::Stage;
use crate::drill::load::{Answer, Letter};

/// An answer must have this status and state.
fn ensure_answer(answer: &Answer, status: u16, state: &str) -> anyhow::Result<()> {
    let is_so = answer.status == Some(status) && answer.state.as_deref() == Some(state);
    anyhow::ensure!(is_so, "answered {:?} {:?} instead of {status} {state}", answer.status, answer.state);
    Ok(())
}

/// Posts an event, lets the consumer do its work, and waits for the end: the receipt, and the idempotency key.
async fn deliver_once(stage: &mut Stage, letter: &Letter) -> anyhow::Result<(Option<String>, String)> {
    let answer = stage.post(0, letter).await;
    ensure_answer(&answer, 200, "accepted")?;
    let call = stage.next_call().await?;
    anyhow::ensure!(call.effect.body_sha256 == letter.digest(), "the consumer got other bytes");
    let key = call.effect.delivery.clone();
    call.answer(200);
    let (state, attempts) = stage.until_finished(letter).await?;
    anyhow::ensure!((state.as_str(), attempts) == ("succeeded", 1), "it ended as {state} in {attempts} attempts");
    Ok((answer.receipt, key))
}

pub async fn happy_path(stage: &mut Stage) -> anyhow::Result<String> {
    let letter = stage.letter("push");
    deliver_once(stage, &letter).await?;
    stage.ensure_no_call()?;
    Ok("answered 200 accepted, one call with the same bytes, succeeded in attempt 1".to_owned())
}

/// What the guard is compared with: nothing stands between provider and consumer.
pub async fn naive_consumer(stage: &mut Stage) -> anyhow::Result<String> {
    let letter = stage.letter("push");
    let mut effects = 0;
    for _ in 0..2 {
        let (answer, call) = stage.post_directly(&letter).await?;
        anyhow::ensure!(answer.status == Some(200) && call.delivery_id == letter.delivery_id, "it was not taken");
        effects += 1;
    }
    stage.ensure_no_call()?;
    Ok(format!("{effects} effects: this is what Oncehook prevents"))
}

pub async fn same_event_twice(stage: &mut Stage) -> anyhow::Result<String> {
    let letter = stage.letter("push");
    let (receipt, _) = deliver_once(stage, &letter).await?;
    let again = stage.post(1, &letter).await;
    ensure_answer(&again, 200, "duplicate")?;
    anyhow::ensure!(again.receipt == receipt, "the duplicate got another receipt");
    let deliveries = stage.count(DELIVERIES, &letter).await?;
    anyhow::ensure!(deliveries == 1, "there are {deliveries} deliveries");
    stage.ensure_no_call()?;
    Ok("accepted, then duplicate with the same receipt; one delivery, one effect".to_owned())
}

pub async fn concurrent_pair(stage: &mut Stage) -> anyhow::Result<String> {
    let letter = stage.letter("push");
    let (one, two) = tokio::join!(stage.post(0, &letter), stage.post(1, &letter));
    let mut states = [one.state.as_deref().unwrap_or("none"), two.state.as_deref().unwrap_or("none")];
    states.sort_unstable();
    anyhow::ensure!(states == ["accepted", "duplicate"], "the two were answered {states:?}");
    anyhow::ensure!(one.receipt == two.receipt, "the two got different receipts");
    stage.next_call().await?.answer(200);
    stage.until_finished(&letter).await?;
    let deliveries = stage.count(DELIVERIES, &letter).await?;
    anyhow::ensure!(deliveries == 1, "there are {deliveries} deliveries");
    stage.ensure_no_call()?;
    Ok("one receiver answered accepted, the other duplicate; one claim, one effect".to_owned())
}

pub async fn other_payload(stage: &mut Stage) -> anyhow::Result<String> {
    let letter = stage.letter("push");
    let (receipt, _) = deliver_once(stage, &letter).await?;
    let mut body = letter.body.clone();
    body.truncate(body.len() - 1);
    body.extend_from_slice(b",\"forced\":true}");
    let other = Letter::sealed(&letter.delivery_id, letter.event, body);
    let answer = stage.post(1, &other).await;
    ensure_answer(&answer, 409, "conflict")?;
    anyhow::ensure!(answer.receipt == receipt, "the conflict names another receipt");
    let kept = stage
        .count(
            "select count(*) from oncehook.conflicts c join oncehook.receipts r on r.id = c.receipt_id
             where r.delivery_id = $1",
            &letter,
        )
        .await?;
    anyhow::ensure!(kept == 1, "{kept} payloads are kept as conflicts");
    stage.ensure_no_call()?;
    Ok("answered 409 conflict; both payloads are kept, and only the first was run".to_owned())
}

pub async fn after_the_horizon(stage: &mut Stage) -> anyhow::Result<String> {
    let letter = stage.letter("push");
    let (receipt, key) = deliver_once(stage, &letter).await?;
    forget(stage, &letter).await?;
    let (receipt_then, key_then) = deliver_once(stage, &letter).await?;
    anyhow::ensure!(receipt_then != receipt && key_then != key, "it was taken for the one that is forgotten");
    Ok("the identity is gone: a new receipt, a new delivery with a key of its own, run once".to_owned())
}

/// Deletes an event's rows, as the retention of identities does when its time is over.
async fn forget(stage: &Stage, letter: &Letter) -> anyhow::Result<()> {
    let mut conn = stage.connect().await?;
    for statement in [
        "delete from oncehook.attempts a using oncehook.deliveries d, oncehook.receipts r
         where a.delivery = d.id and d.receipt_id = r.id and r.delivery_id = $1",
        "delete from oncehook.deliveries d using oncehook.receipts r where d.receipt_id = r.id and r.delivery_id = $1",
        "delete from oncehook.payloads p using oncehook.receipts r where p.receipt_id = r.id and r.delivery_id = $1",
        "delete from oncehook.receipts where delivery_id = $1",
    ] {
        sqlx::query(statement).bind(&letter.delivery_id).execute(&mut conn).await?;
    }
    Ok(())
}

const DELIVERIES: &str = "select count(*) from oncehook.deliveries d join oncehook.receipts r on r.id = d.receipt_id
     where r.delivery_id = $1";
