//! The embedded PostgreSQL keeps its data, survives our death, and says clearly why it cannot start.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use oncehook::postgres::{Embedded, PostgresError, SearchPaths, Setup};
use sqlx::{ConnectOptions as _, PgConnection};

use crate::support::own_cluster::OwnCluster;

async fn connect(embedded: &Embedded) -> PgConnection {
    embedded.connect_options().connect().await.unwrap()
}

async fn write_row(embedded: &Embedded) {
    let sql = "create table if not exists kept (n integer); insert into kept values (1)";
    sqlx::raw_sql(sql).execute(&mut connect(embedded).await).await.unwrap();
}

async fn count_rows(embedded: &Embedded) -> i64 {
    sqlx::query_scalar("select count(*) from kept").fetch_one(&mut connect(embedded).await).await.unwrap()
}

async fn show(embedded: &Embedded, setting: &str) -> String {
    let show = sqlx::AssertSqlSafe(format!("show {setting}"));
    sqlx::query_scalar(show).fetch_one(&mut connect(embedded).await).await.unwrap()
}

#[tokio::test]
async fn the_data_is_there_after_a_restart() {
    let own = OwnCluster::new();
    let first = own.start().await.unwrap();
    write_row(&first).await;
    assert!(first.stop().await.unwrap(), "the only user stops the server");
    assert_eq!(own.pid(), None);

    let second = own.start().await.unwrap();
    assert!(!second.is_adopted());
    assert_eq!(count_rows(&second).await, 1);
    assert!(second.stop().await.unwrap());
}

#[tokio::test]
async fn a_server_whose_starter_died_is_adopted_and_stopped_with_us() {
    let own = OwnCluster::prepared().await;
    let first = own.start().await.unwrap();
    write_row(&first).await;
    let pid = own.pid().unwrap();
    // To the server a dropped handle is the same as a killed process: the kernel frees the locks, and nobody stops it.
    drop(first);

    let second = own.start().await.unwrap();
    assert!(second.is_adopted());
    assert_eq!(own.pid(), Some(pid));
    assert_eq!(count_rows(&second).await, 1);
    assert!(second.stop().await.unwrap());
    assert_eq!(own.pid(), None);
}

#[tokio::test]
async fn a_server_that_crashed_recovers_what_was_committed() {
    let own = OwnCluster::prepared().await;
    let first = own.start().await.unwrap();
    write_row(&first).await;
    own.crash().await;
    drop(first);

    let second = own.start().await.unwrap();
    assert!(!second.is_adopted());
    assert_eq!(count_rows(&second).await, 1);
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_killed_servers_stale_note_does_not_keep_a_new_one_from_starting() {
    let own = OwnCluster::prepared().await;
    let first = own.start().await.unwrap();
    write_row(&first).await;
    own.kill().await;
    assert!(own.pid().is_some(), "a killed server leaves its note");
    drop(first);

    let second = own.start().await.unwrap();
    assert_eq!(count_rows(&second).await, 1);
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_note_whose_number_is_another_programs_by_now_is_stale() {
    let own = OwnCluster::prepared().await;
    let cluster = own.cluster_dir();
    let note = format!("{}\n{}\n1\n5432\n/tmp\n\n 1 1\nready\n", std::process::id(), cluster.display());
    fs::write(cluster.join("postmaster.pid"), note).unwrap();

    let embedded = own.start().await.unwrap();
    assert!(!embedded.is_adopted());
    embedded.stop().await.unwrap();
}

#[tokio::test]
async fn of_two_starters_at_once_one_starts_and_the_last_to_leave_stops() {
    let own = OwnCluster::prepared().await;
    let (first, second) = tokio::join!(own.start(), own.start());
    let (first, second) = (first.unwrap(), second.unwrap());
    assert!(first.is_adopted() != second.is_adopted());
    assert!(!first.stop().await.unwrap(), "the other one still uses it");
    write_row(&second).await;
    assert!(second.stop().await.unwrap());
    assert_eq!(own.pid(), None);
}

#[tokio::test]
async fn attaching_finds_a_running_server_and_starts_none() {
    let own = OwnCluster::new();
    assert!(Embedded::attach(own.data_dir()).await.unwrap().is_none());
    assert!(!own.data_dir().exists(), "looking makes no folder");
    let server = own.start().await.unwrap();
    let attached = Embedded::attach(own.data_dir()).await.unwrap().expect("it runs");
    write_row(&attached).await;
    assert!(!attached.stop().await.unwrap());
    assert!(server.stop().await.unwrap());
    assert!(Embedded::attach(own.data_dir()).await.unwrap().is_none());
}

#[tokio::test]
async fn durability_holds_whatever_the_clusters_own_files_say() {
    let own = OwnCluster::prepared().await;
    let conf = own.cluster_dir().join("postgresql.auto.conf");
    fs::write(conf, "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\nlisten_addresses = '*'\n").unwrap();

    let embedded = own.start().await.unwrap();
    for setting in ["fsync", "synchronous_commit", "full_page_writes", "data_checksums"] {
        assert_eq!(show(&embedded, setting).await, "on", "{setting}");
    }
    assert_eq!(show(&embedded, "listen_addresses").await, "");
    assert_eq!(show(&embedded, "server_encoding").await, "UTF8");
    assert_eq!(show(&embedded, "timezone").await, "UTC");
    embedded.stop().await.unwrap();
}

#[tokio::test]
async fn nobody_else_can_enter_the_folders_of_socket_and_cluster() {
    let own = OwnCluster::prepared().await;
    let embedded = own.start().await.unwrap();
    let socket_dir = embedded.connect_options().get_socket().cloned().unwrap();
    for dir in [socket_dir, own.cluster_dir()] {
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700, "{}", dir.display());
    }
    embedded.stop().await.unwrap();
}

#[tokio::test]
async fn the_url_leads_to_the_same_database() {
    let own = OwnCluster::named("data & more");
    let embedded = own.start().await.unwrap();
    write_row(&embedded).await;
    let mut by_url = embedded.url().parse::<sqlx::postgres::PgConnectOptions>().unwrap().connect().await.unwrap();
    let rows: i64 = sqlx::query_scalar("select count(*) from kept").fetch_one(&mut by_url).await.unwrap();
    assert_eq!(rows, 1);
    embedded.stop().await.unwrap();
}

#[tokio::test]
async fn a_data_folder_with_a_long_path_gets_its_socket_elsewhere() {
    let own = OwnCluster::named(&"long-".repeat(30));
    let embedded = own.start().await.unwrap();
    let socket_dir = embedded.connect_options().get_socket().cloned().unwrap();
    assert!(!socket_dir.starts_with(own.data_dir()), "{}", socket_dir.display());
    write_row(&embedded).await;
    embedded.stop().await.unwrap();
    let _ = fs::remove_dir_all(socket_dir);
}

#[tokio::test]
async fn a_socket_folder_that_somebody_else_may_enter_is_refused() {
    let own = OwnCluster::prepared().await;
    let socket_dir = own.cluster_dir().with_file_name("socket");
    fs::set_permissions(&socket_dir, fs::Permissions::from_mode(0o777)).unwrap();
    let error = own.start().await.unwrap_err();
    assert!(matches!(&error, PostgresError::NotOurs { path, .. } if *path == socket_dir), "{error}");
}

#[tokio::test]
async fn root_keeps_its_cluster_elsewhere_when_the_servers_user_cannot_reach_the_data_folder() {
    if !nix::unistd::Uid::effective().is_root() {
        eprintln!("skipped: only root runs the server as another user");
        return;
    }
    let own = OwnCluster::named("closed/oncehook");
    let closed = own.scratch().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let first = own.start().await.unwrap();
    write_row(&first).await;
    assert!(own.cluster_dir().starts_with(own.scratch().join("elsewhere")), "{}", own.cluster_dir().display());
    assert!(own.data_dir().join("postgres.log").exists(), "the log stays where one looks for it");
    first.stop().await.unwrap();

    let second = own.start().await.unwrap();
    assert_eq!(count_rows(&second).await, 1, "the next start finds it again");
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_cluster_of_another_major_version_is_refused_with_what_to_do() {
    let own = OwnCluster::prepared().await;
    fs::write(own.cluster_dir().join("PG_VERSION"), "13\n").unwrap();
    let message = own.start().await.unwrap_err().to_string();
    for words in ["made by PostgreSQL 13", "pg_upgrade", "Install postgresql-13", " in /"] {
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[tokio::test]
async fn without_binaries_the_error_says_how_to_install_them() {
    let own = OwnCluster::new();
    let search = SearchPaths(vec![PathBuf::from("/nonexistent/bin"), own.scratch().to_owned()]);
    let message = Setup { search, ..own.setup() }.start().await.unwrap_err().to_string();
    for words in ["apt-get install postgresql", "/nonexistent/bin", "database.url"] {
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[tokio::test]
async fn a_folder_with_something_else_in_it_is_left_alone() {
    let own = OwnCluster::new();
    let foreign = own.data_dir().join("postgres");
    fs::create_dir_all(&foreign).unwrap();
    fs::set_permissions(own.data_dir(), fs::Permissions::from_mode(0o711)).unwrap();
    fs::write(foreign.join("thesis.txt"), "years of work").unwrap();
    let error = own.start().await.unwrap_err();
    assert!(error.to_string().contains("is no PostgreSQL cluster"), "{error}");
    assert_eq!(fs::read_to_string(foreign.join("thesis.txt")).unwrap(), "years of work");
}

#[tokio::test]
async fn a_server_that_does_not_start_is_quoted() {
    let own = OwnCluster::prepared().await;
    let conf = own.cluster_dir().join("postgresql.auto.conf");
    fs::write(conf, "no_such_setting = 1\n").unwrap();
    let message = own.start().await.unwrap_err().to_string();
    for words in ["postgres failed", "postgres.log", "no_such_setting"] {
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[tokio::test]
async fn a_cluster_that_was_being_made_when_we_died_is_made_anew() {
    let own = OwnCluster::new();
    let unfinished = own.data_dir().join("postgres.unfinished");
    fs::create_dir_all(&unfinished).unwrap();
    fs::set_permissions(own.data_dir(), fs::Permissions::from_mode(0o711)).unwrap();
    fs::write(unfinished.join("PG_VERSION"), "15\n").unwrap();
    let embedded = own.start().await.unwrap();
    write_row(&embedded).await;
    embedded.stop().await.unwrap();
    assert!(!unfinished.exists());
}
