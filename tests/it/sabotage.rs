//! What the drill's negative controls take away in the database is really gone there, and was there before.

use oncehook::{drill::sabotage::apply, sabotage::Sabotage};
use sqlx::PgConnection;

use crate::support::cluster::{TestDatabase, fresh_database};

const RECEIPT: &str = "insert into oncehook.receipts (id, source, delivery_id, event_type, received_at, body_digest,
                                                      normalised_digest, body_bytes)
                       values (gen_random_uuid(), 'github', 'e1', 'push', now(), sha256(''), sha256(''), 0)
                       on conflict on constraint receipts_identity do nothing";

/// Two deliveries in a lane, of which the first runs, its lease far from over.
const LANE: &str = "
    insert into oncehook.lanes (route, ordering_key, job_id) values ('r', 'k', 'j');
    insert into oncehook.deliveries (id, receipt_id, route, destination, ordering_key, state, attempts, leased_by, lease_expires_at)
    values ('00000000-0000-0000-0000-000000000001', gen_random_uuid(), 'r', 'd', 'k', 'running', 7, 'holder', now() + interval '1 h'),
           ('00000000-0000-0000-0000-000000000002', gen_random_uuid(), 'r', 'd', 'k', 'waiting', 0, null, null)";

const NEXT: &str = "select turn || ' ' || right(delivery::text, 1)
                    from oncehook.next_turn('r', 'k', null, 'j', 'w', 10, '{d}', gen_random_uuid(), true, '{}')";

const SETTLE_AS_ANOTHER: &str = "
    select oncehook.settle_delivery('00000000-0000-0000-0000-000000000001', 6, 'another', 'succeeded', 0, 'succeeded', 'ok',
                                    null, null, null, false, 1, null)::text";

async fn run(conn: &mut PgConnection, sql: &'static str) -> u64 {
    sqlx::raw_sql(sql).execute(conn).await.unwrap().rows_affected()
}

async fn text(conn: &mut PgConnection, sql: &'static str) -> String {
    sqlx::query_scalar(sql).fetch_one(conn).await.unwrap()
}

async fn database(sabotage: impl IntoIterator<Item = Sabotage>) -> (TestDatabase, PgConnection) {
    let database = fresh_database().await;
    for one in sabotage {
        apply(one, database.url()).await.unwrap();
    }
    let conn = database.connect().await;
    (database, conn)
}

#[tokio::test]
async fn without_the_identity_an_event_is_stored_twice() {
    for (sabotage, stored) in [(None, 0), (Some(Sabotage::CheckThenInsert), 1)] {
        let (_database, mut conn) = database(sabotage).await;
        run(&mut conn, RECEIPT).await;
        assert_eq!(run(&mut conn, RECEIPT).await, stored, "{sabotage:?}");
    }
}

#[tokio::test]
async fn without_fencing_anybody_may_settle_and_take_over() {
    for (sabotage, next, settled) in [(None, "wait 1", "false"), (Some(Sabotage::NoFencing), "lease_over 1", "true")] {
        let (_database, mut conn) = database(sabotage).await;
        run(&mut conn, LANE).await;
        assert_eq!(text(&mut conn, NEXT).await, next, "{sabotage:?}");
        assert_eq!(text(&mut conn, SETTLE_AS_ANOTHER).await, settled, "{sabotage:?}");
    }
}

#[tokio::test]
async fn with_larger_batches_a_second_delivery_of_a_lane_is_claimed() {
    for (sabotage, next) in [(None, "wait 1"), (Some(Sabotage::LargerClaimBatches), "run 2")] {
        let (_database, mut conn) = database(sabotage).await;
        run(&mut conn, LANE).await;
        assert_eq!(text(&mut conn, NEXT).await, next, "{sabotage:?}");
    }
}

#[tokio::test]
async fn a_safety_that_is_not_there_as_it_was_is_no_control() {
    for one in [Sabotage::CheckThenInsert, Sabotage::NoFencing, Sabotage::LargerClaimBatches] {
        let (database, mut conn) = database([]).await;
        let change = "alter table oncehook.receipts rename constraint receipts_identity to other_name;
                      drop function oncehook.next_turn;
                      create function oncehook.next_turn() returns void language plpgsql as 'begin end'";
        run(&mut conn, change).await;
        apply(one, database.url()).await.unwrap_err();
    }
}
