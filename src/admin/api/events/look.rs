//! One look at what has happened since the last: at receipts and attempts behind the newest ones that were seen, and at what
//! was under way.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::event::Event;
use crate::{
    domain::DeliveryState,
    operate::{BulkState, Desk, PageRequest},
    store::{
        Result,
        event_feed::{attempts_after, deliveries_now, newest_attempt, newest_receipt, receipts_after},
    },
};

/// Rows of one kind that one look reads: a few milliseconds.
const ROWS_MAX: usize = 5_000;

/// Ids are made before they are committed: a look goes back by so much, and passes over what was seen.
const OVERLAP_MS: u128 = 2_000;

/// Running deliveries that are watched until they are done with.
const WATCHED_MAX: usize = 2_000;

/// Bulks that are watched: the newest.
const BULKS_MAX: u32 = 20;

/// What was seen.
#[derive(Default)]
pub(super) struct Look {
    has_begun: bool,
    receipts: Place,
    attempts: Place,
    /// Running deliveries, with their attempts.
    watched: BTreeMap<Uuid, i32>,
    /// How far bulks were.
    bulks: BTreeMap<String, (BulkState, i64, i64)>,
}

/// How far a table was seen, whose ids begin with a time.
#[derive(Default)]
struct Place {
    newest: u128,
    seen: BTreeSet<u128>,
}

impl Place {
    /// Behind which id to look.
    fn from(&self) -> Uuid {
        Uuid::from_u128((self.newest >> 80).saturating_sub(OVERLAP_MS) << 80)
    }

    /// Whether it is new. It is not from now on.
    fn is_new(&mut self, id: Uuid) -> bool {
        self.newest = self.newest.max(id.as_u128());
        self.seen.insert(id.as_u128())
    }

    fn forget(&mut self) {
        self.seen = self.seen.split_off(&self.from().as_u128());
    }
}

impl Look {
    /// What is new. The first look finds nothing: it only sees where to begin.
    pub(super) async fn once(&mut self, desk: &Desk) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        {
            let mut conn = desk.pool.acquire().await?;
            if !self.has_begun {
                self.receipts.newest = newest_receipt(&mut conn).await?.map_or(0, |id| id.as_u128());
                self.attempts.newest = newest_attempt(&mut conn).await?.map_or(0, |id| id.as_u128());
            }
            self.look_at_receipts(&mut conn, &mut events).await?;
            self.look_at_deliveries(&mut conn, &mut events).await?;
        }
        self.look_at_bulks(desk, &mut events).await;
        if !std::mem::replace(&mut self.has_begun, true) {
            events.clear();
        }
        Ok(events)
    }

    async fn look_at_receipts(&mut self, conn: &mut sqlx::PgConnection, events: &mut Vec<Event>) -> Result<()> {
        let rows = receipts_after(conn, self.receipts.from(), ROWS_MAX.try_into().unwrap_or(i64::MAX)).await?;
        let is_full = rows.len() == ROWS_MAX;
        events.extend(rows.iter().filter(|row| self.receipts.is_new(row.id.uuid())).map(Event::receipt));
        if is_full {
            events.push(Event::missed("receipts"));
            let newest = newest_receipt(conn).await?;
            self.receipts.newest = newest.map_or(self.receipts.newest, |id| id.as_u128());
        }
        self.receipts.forget();
        Ok(())
    }

    async fn look_at_deliveries(&mut self, conn: &mut sqlx::PgConnection, events: &mut Vec<Event>) -> Result<()> {
        let rows = attempts_after(conn, self.attempts.from(), ROWS_MAX.try_into().unwrap_or(i64::MAX)).await?;
        let is_full = rows.len() == ROWS_MAX;
        let mut asked: BTreeSet<Uuid> = self.watched.keys().copied().collect();
        asked.extend(rows.into_iter().filter(|(id, _)| self.attempts.is_new(*id)).map(|(_, delivery)| delivery));
        if is_full {
            events.push(Event::missed("deliveries"));
            let newest = newest_attempt(conn).await?;
            self.attempts.newest = newest.map_or(self.attempts.newest, |id| id.as_u128());
        }
        self.attempts.forget();
        if asked.is_empty() {
            return Ok(());
        }
        for delivery in deliveries_now(conn, &asked.into_iter().collect::<Vec<_>>()).await? {
            let was = self.watched.remove(&delivery.id.uuid());
            let is_running = delivery.state == DeliveryState::Running;
            if !is_running || was != Some(delivery.attempts) {
                events.push(Event::delivery(&delivery));
            }
            if is_running && self.watched.len() < WATCHED_MAX {
                self.watched.insert(delivery.id.uuid(), delivery.attempts);
            }
        }
        Ok(())
    }

    async fn look_at_bulks(&mut self, desk: &Desk, events: &mut Vec<Event>) {
        let page = PageRequest { cursor: None, limit: BULKS_MAX };
        let Ok(bulks) = desk.bulks(&page).await else { return };
        let was = std::mem::take(&mut self.bulks);
        for bulk in bulks.items {
            let now = (bulk.state, bulk.met, bulk.changed);
            if was.get(&bulk.bulk) != Some(&now) {
                events.push(Event::bulk(&bulk));
            }
            self.bulks.insert(bulk.bulk, now);
        }
    }
}
