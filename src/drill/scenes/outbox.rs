//! The scene of the outbox: what a transaction writes is published once it is committed, and again where the answer is lost.

use super::stage::Stage;
use crate::drill::load::Letter;

const WRITE: &str = "insert into oncehook.outbox (event_type, ordering_key, payload)
     values ('order.shipped', 'order/1', '{\"order\": 1}') returning id";

pub async fn published_twice(stage: &mut Stage) -> anyhow::Result<String> {
    let mut conn = stage.connect().await?;
    let mut undone = sqlx::Connection::begin(&mut conn).await?;
    let undone_id: i64 = sqlx::query_scalar(WRITE).fetch_one(&mut *undone).await?;
    undone.rollback().await?;
    let id: i64 = sqlx::query_scalar(WRITE).fetch_one(&mut conn).await?;

    let first = stage.next_call().await?;
    let (key, published) = (first.effect.delivery.clone(), first.effect.delivery_id.clone());
    anyhow::ensure!(published == format!("outbox-{id}"), "{published} was published, and not outbox-{id}");
    // The consumer has acted, and nobody hears of it.
    first.lose_answer();
    let second = stage.next_call().await?;
    let again = &second.effect;
    anyhow::ensure!(
        again.delivery == key && again.attempt == 2,
        "published again as {} {}",
        again.delivery,
        again.attempt
    );
    second.answer(200);

    let letter = Letter::sealed(&published, "order.shipped", Vec::new());
    stage.until_finished(&letter).await?;
    stage.ensure_no_call()?;
    let receipts = stage.count("select count(*) from oncehook.receipts where delivery_id = $1", &letter).await?;
    anyhow::ensure!(receipts == 1, "there are {receipts} receipts of it");
    let letter = Letter::sealed(&format!("outbox-{undone_id}"), "order.shipped", Vec::new());
    let undone = stage.count("select count(*) from oncehook.receipts where delivery_id = $1", &letter).await?;
    anyhow::ensure!(undone == 0, "what was rolled back was published");
    Ok("one receipt; the answer was lost, so it was published twice under one key; what was rolled back never was"
        .to_owned())
}
