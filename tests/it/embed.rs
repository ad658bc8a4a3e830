//! The program in examples/embed.rs does what it says.

use crate::support::cluster::fresh_database;

#[path = "../../examples/embed.rs"]
#[expect(dead_code, reason = "it is a program too, whose main is not called here")]
mod program;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_with_oncehook_inside_gets_its_push_into_its_ledger() {
    let database = fresh_database().await;
    let entry = program::run(Some(database.url().to_owned())).await.unwrap();
    assert!(entry.starts_with("dlv_") && entry.ends_with(" pushed to refs/heads/main"), "{entry}");
}
