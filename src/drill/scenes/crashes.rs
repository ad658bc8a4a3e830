//! Scenes in which somebody dies at the worst moment.

use std::time::Duration;

use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use super::stage::Stage;
use crate::drill::{
    journal,
    sink::{DIED_ON_PURPOSE, Effect},
};

const STORED: &str = "select count(*) from oncehook.receipts where delivery_id = $1";

/// The consumer commits its effect and exits before it answers; its successor knows the key.
pub async fn exit_42(stage: &mut Stage) -> anyhow::Result<String> {
    let letter = stage.letter("issues");
    let mut ends = stage.mortal.ends();
    let answer = stage.post(0, &letter).await;
    anyhow::ensure!(answer.status == Some(200), "answered {:?}", answer.status);
    ends.wait_for(|&ends| ends > 0).await?;
    let code = stage.mortal.last_exit().and_then(|status| status.code());
    anyhow::ensure!(code == Some(DIED_ON_PURPOSE), "the consumer ended with code {code:?}");
    let (state, attempts) = stage.until_finished(&letter).await?;
    let calls: Vec<Effect> = journal::read(&stage.mortal_journal)?;
    let effects = calls.iter().filter(|call| call.effect).count();
    let is_one_key = calls.iter().all(|call| call.delivery == calls[0].delivery);
    anyhow::ensure!(state == "succeeded" && calls.len() == 2 && is_one_key, "{state}, {} calls", calls.len());
    anyhow::ensure!(effects == 1, "{effects} effects");
    Ok(format!("exit code 42 seen; called again with the same key in attempt {attempts}, known there: one effect"))
}

/// The sender goes away after the commit without having read the answer, and sends again.
pub async fn lost_answer(stage: &mut Stage) -> anyhow::Result<String> {
    let letter = stage.letter("push");
    let mut stream = TcpStream::connect(stage.fleet.intakes[0]).await?;
    let head = format!(
        "POST /hooks/github HTTP/1.1\r\nhost: drill\r\nx-github-delivery: {}\r\nx-github-event: {}\r\n\
         content-type: application/json\r\nx-hub-signature-256: {}\r\ncontent-length: {}\r\n\r\n",
        letter.delivery_id,
        letter.event,
        letter.signature.as_deref().unwrap_or_default(),
        letter.body.len()
    );
    stream.write_all(&[head.as_bytes(), &letter.body].concat()).await?;
    while stage.count(STORED, &letter).await? == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Reset, so that whatever was answered is lost.
    stream.set_zero_linger()?;
    drop(stream);
    let again = stage.post(1, &letter).await;
    anyhow::ensure!(again.state.as_deref() == Some("duplicate"), "sent again, it was answered {:?}", again.state);
    stage.next_call().await?.answer(200);
    stage.until_finished(&letter).await?;
    let receipts = stage.count(STORED, &letter).await?;
    anyhow::ensure!(receipts == 1, "there are {receipts} receipts");
    stage.ensure_no_call()?;
    Ok("nobody read the first answer; sent again, it was a duplicate: one receipt, one effect".to_owned())
}

/// The consumer has acted; the worker is killed before it hears of it.
pub async fn unreported_call(stage: &mut Stage) -> anyhow::Result<String> {
    let letter = stage.letter("push");
    stage.post(0, &letter).await;
    let first = stage.next_call().await?.effect;
    stage.kill_its_worker(&letter).await?;
    let second = stage.next_call().await?;
    let (key, attempt) = (second.effect.delivery.clone(), second.effect.attempt);
    second.answer(200);
    let (state, _) = stage.until_finished(&letter).await?;
    anyhow::ensure!(key == first.delivery, "it was called again with another key");
    anyhow::ensure!(attempt == first.attempt + 1 && state == "succeeded", "attempt {attempt} ended as {state}");
    stage.ensure_no_call()?;
    Ok(format!("worker killed with -9; called again in attempt {attempt} with the same key: one effect behind it"))
}
