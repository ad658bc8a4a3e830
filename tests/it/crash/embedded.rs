//! `serve` on its own PostgreSQL: started, stopped and killed as an operator's machine does it.

use super::{config, load::Load};
use crate::support::{destination::TestDestination, own_cluster::OwnCluster, process::Site};

#[tokio::test]
async fn a_stop_ends_the_embedded_database_too_and_the_next_start_has_the_data() {
    let own = OwnCluster::new();
    let destination = TestDestination::start([]).await;
    let site = Site::embedded(&config(&destination.url()), own.data_dir());
    let first = site.start(&["serve"]).await;
    let mut load = Load::new(2, 3);
    load.send_rest(&first.sender()).await;
    first.stop().await;
    assert_eq!(own.pid(), None, "PostgreSQL stops with serve");

    let second = site.start(&["serve"]).await;
    assert_eq!(load.send_again(&second.sender()).await, ["duplicate"; 6]);
    second.stop().await;
    assert_eq!(own.pid(), None);
}

#[tokio::test]
async fn the_embedded_database_of_a_killed_serve_is_adopted_by_the_next() {
    let own = OwnCluster::prepared().await;
    let destination = TestDestination::start([]).await;
    let site = Site::embedded(&config(&destination.url()), own.data_dir());
    let first = site.start(&["serve"]).await;
    let mut load = Load::new(2, 3);
    load.send_rest(&first.sender()).await;
    let postgres = own.pid();
    assert!(postgres.is_some());
    first.kill().await;

    let second = site.start(&["serve"]).await;
    assert_eq!(own.pid(), postgres, "it is the same server");
    assert_eq!(load.send_again(&second.sender()).await, ["duplicate"; 6]);
    destination.wait_for(12).await;
    second.stop().await;
    assert_eq!(own.pid(), None);
}
