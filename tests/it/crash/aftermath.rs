//! What must hold when everything has calmed down, whatever happened before.

use std::collections::BTreeMap;

use oncehook::domain::{DeliveryRef, ReceiptId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::load::Load;
use crate::support::{destination::Received, invariants::assert_lane_invariants, until::until};

/// Deliveries that each event has, by the routes of the configuration.
pub const DELIVERIES_EACH: usize = 2;

/// Requests that a destination took, in the order in which they came.
pub struct Effects(pub Vec<Received>);

#[derive(sqlx::FromRow)]
struct Delivery {
    id: Uuid,
    receipt_id: Uuid,
    state: String,
    lane: Option<String>,
    attempts: Vec<i32>,
    succeeded: i64,
    unknown: i64,
}

/// Waits until every delivery is finished, and every lane and job gone.
pub async fn until_all_is_finished(conn: &mut PgConnection) {
    let sql = "select (select count(*) from oncehook.deliveries where finished_at is null)
                    + (select count(*) from oncehook.lanes) + (select count(*) from apalis.jobs where status <> 'Done')";
    until("every delivery is finished", async || number(conn, sql).await == 0).await;
}

pub async fn number(conn: &mut PgConnection, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(conn).await.unwrap()
}

/// Whether a worker that lost its lease may have gone on.
#[derive(Clone, Copy, PartialEq)]
pub enum Zombies {
    /// No.
    None,
    /// Yes: across a network, its effect may come after a later attempt's.
    MayActLate,
}

/// Checks the whole story, and gives how many effects happened that need not have.
pub async fn assert_all_is_well(load: &Load, effects: &Effects, conn: &mut PgConnection) -> usize {
    assert_all_is_well_after(load, effects, conn, Zombies::None).await
}

/// The same, with or without zombies.
pub async fn assert_all_is_well_after(
    load: &Load,
    effects: &Effects,
    conn: &mut PgConnection,
    zombies: Zombies,
) -> usize {
    assert_answered_is_stored(load, conn).await;
    assert_lane_invariants(conn).await;
    let deliveries = read_deliveries(conn).await;
    assert_eq!(deliveries.len(), load.len() * DELIVERIES_EACH);
    let by_key = effects.by_key();
    for delivery in &deliveries {
        assert_eq!((delivery.state.as_str(), delivery.succeeded), ("succeeded", 1), "{}", delivery.key());
    }
    assert_in_order(&deliveries, effects);
    let extra = deliveries.iter().map(|delivery| assert_effects(delivery, &by_key, zombies)).sum();
    assert_eq!(by_key.len(), deliveries.len(), "every effect belongs to a delivery");
    extra
}

/// P1: what was answered with 2xx is stored, and nothing twice.
async fn assert_answered_is_stored(load: &Load, conn: &mut PgConnection) {
    let rows: Vec<(String, Uuid)> =
        sqlx::query_as("select delivery_id, id from oncehook.receipts").fetch_all(conn).await.unwrap();
    assert_eq!(rows.len(), load.len(), "one receipt for each event");
    let stored: BTreeMap<_, _> = rows.into_iter().collect();
    for (id, receipt) in &load.answered {
        assert_eq!(stored.get(id), Some(&receipt.parse::<ReceiptId>().unwrap().uuid()), "{id} was answered with 2xx");
    }
}

async fn read_deliveries(conn: &mut PgConnection) -> Vec<Delivery> {
    sqlx::query_as(
        "select d.id, d.receipt_id, d.state, d.ordering_key as lane,
                array_agg(a.number order by a.number) as attempts,
                count(*) filter (where a.outcome = 'succeeded') as succeeded,
                count(*) filter (where a.outcome = 'unknown') as unknown
         from oncehook.deliveries d join oncehook.attempts a on a.delivery = d.id
         group by d.id order by d.seq",
    )
    .fetch_all(conn)
    .await
    .unwrap()
}

/// P5: every delivery had its effect, always under its own key, each time in an attempt that had been written down, and more
/// than once only where an attempt's outcome is not known.
fn assert_effects(delivery: &Delivery, by_key: &BTreeMap<String, Vec<&Received>>, zombies: Zombies) -> usize {
    let key = delivery.key();
    let effects = by_key.get(&key).unwrap_or_else(|| panic!("{key} succeeded without an effect"));
    let mut numbers: Vec<i32> = Vec::new();
    for effect in effects {
        let receipt = ReceiptId::from(delivery.receipt_id).to_string();
        assert_eq!(effect.header("oncehook-receipt"), Some(receipt.as_str()), "{key}");
        numbers.push(effect.header("oncehook-attempt").unwrap().parse().unwrap());
    }
    if zombies == Zombies::MayActLate {
        numbers.sort_unstable();
    }
    assert!(numbers.is_sorted_by(|one, next| one < next), "{key}: attempts come one after another: {numbers:?}");
    assert!(numbers.iter().all(|number| delivery.attempts.contains(number)), "{key}: {numbers:?}");
    let extra = effects.len() - 1;
    assert!(
        i64::try_from(extra).unwrap() <= delivery.unknown,
        "{key} had {extra} effects more than it can account for"
    );
    extra
}

/// P6: in each lane the first effects come in the lane's order.
fn assert_in_order(deliveries: &[Delivery], effects: &Effects) {
    let mut lanes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for delivery in deliveries {
        if let Some(lane) = &delivery.lane {
            lanes.entry(lane).or_default().push(delivery.key());
        }
    }
    for (lane, order) in lanes {
        let mut came = Vec::new();
        for key in effects.0.iter().map(key_of).filter(|key| order.contains(key)) {
            if !came.contains(&key) {
                came.push(key);
            }
        }
        assert_eq!(came, order, "{lane}");
    }
}

impl Delivery {
    fn key(&self) -> String {
        DeliveryRef::from(self.id).to_string()
    }
}

impl Effects {
    fn by_key(&self) -> BTreeMap<String, Vec<&Received>> {
        let mut by_key: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for effect in &self.0 {
            by_key.entry(key_of(effect)).or_default().push(effect);
        }
        by_key
    }
}

fn key_of(effect: &Received) -> String {
    effect.header("idempotency-key").expect("every request has its key").to_owned()
}
