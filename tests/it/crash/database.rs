//! The database crashes, and the destination is away, while the appliance runs.

use sqlx::{ConnectOptions as _, PgConnection};

use super::{
    aftermath::{DELIVERIES_EACH, Effects, assert_all_is_well, number, until_all_is_finished},
    config,
    load::Load,
};
use crate::support::{
    cluster::fresh_database, destination::TestDestination, own_cluster::OwnCluster, process::Site, until::until,
};

#[tokio::test]
async fn a_database_that_crashes_under_load_loses_nothing_that_was_answered() {
    let own = OwnCluster::prepared().await;
    let mut embedded = own.start().await.unwrap();
    let destination = TestDestination::start([]).await;
    let settings = config(&destination.url()).replace("concurrency = 1", "concurrency = 4\ncrashes_max = 100");
    let site = Site::new(&settings, &embedded.url());
    let process = site.start(&["serve"]).await;
    let sender = process.sender();
    let mut load = Load::new(4, 30);
    for crash in 1..=2 {
        load.send(&sender, load.len() / 4).await;
        let seen = destination.received().len();
        let more = load.send(&sender, load.len() / 4);
        let crash = async {
            destination.wait_for(seen + crash).await;
            own.crash().await;
            own.start().await.unwrap()
        };
        (_, embedded) = tokio::join!(more, crash);
    }
    until("everything is answered", async || {
        load.send(&sender, 8).await;
        load.is_answered()
    })
    .await;
    let mut conn: PgConnection = embedded.connect_options().connect().await.unwrap();
    until_all_is_finished(&mut conn).await;
    assert_all_is_well(&load, &Effects(destination.received()), &mut conn).await;
    process.stop().await;
}

#[tokio::test]
async fn a_destination_that_is_down_for_a_while_gets_everything_in_order_when_it_is_back() {
    let database = fresh_database().await;
    let mut conn = database.connect().await;
    let destination = TestDestination::start([]).await;
    let site = Site::new(&config(&destination.url()), database.url());
    let process = site.start(&["serve"]).await;
    let address = destination.stop().await;
    let mut load = Load::new(3, 5);
    load.send_rest(&process.sender()).await;
    let failed = "select count(*) from oncehook.attempts where outcome = 'failed'";
    until("attempts have failed", async || number(&mut conn, failed).await >= 20).await;

    let destination = TestDestination::start_at(address, []).await;
    until_all_is_finished(&mut conn).await;
    let effects = Effects(destination.received());
    assert_eq!(effects.0.len(), load.len() * DELIVERIES_EACH);
    assert_eq!(assert_all_is_well(&load, &effects, &mut conn).await, 0);
    process.stop().await;
}
