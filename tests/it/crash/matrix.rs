//! Each crash point × {the process is stopped for longer than its lease, its connection breaks} × each role that passes the
//! point, with the whole check afterwards. (`points` kills at each.)

use super::{
    aftermath::{Effects, Zombies, assert_all_is_well_after, number, until_all_is_finished},
    config,
    load::Load,
};
use crate::support::{
    cluster::fresh_database,
    destination::{Reply, TestDestination},
    process::Site,
    until::until,
};

/// Which process meets with it.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// One that does everything.
    Serve,
    /// One that takes webhooks, beside one that runs deliveries.
    Receive,
    /// One that runs deliveries, beside one that takes webhooks.
    Work,
}

impl Role {
    fn command(self) -> &'static [&'static str] {
        match self {
            Self::Serve => &["serve"],
            Self::Receive => &["serve", "--no-work"],
            Self::Work => &["work"],
        }
    }

    /// What runs beside it from the beginning, so that the two are a whole.
    fn companion(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Serve => None,
            Self::Receive => Some(&["work"]),
            Self::Work => Some(&["serve", "--no-work"]),
        }
    }
}

/// Requests that the destination refuses for now, so that lanes are parked.
const REFUSED: usize = 2;

/// The process is stopped at the point; another takes over what it held; then it goes on as if nothing had happened.
async fn survive_a_stop(role: Role, point: &str) {
    let database = fresh_database().await;
    let mut conn = database.connect().await;
    let destination = TestDestination::start(vec![Reply::Status(503); REFUSED]).await;
    let site = Site::new(&config(&destination.url()), database.url());
    let zombie = site.start_doomed(role.command(), &format!("{point}=2*off->1*return(stop)->off")).await;
    let companion = match role.companion() {
        Some(command) => Some(site.start(command).await),
        None => None,
    };
    let mut load = Load::new(2, 4);
    let sender = if role == Role::Work { companion.as_ref().expect("it receives").sender() } else { zombie.sender() };
    tokio::select! {
        () = async { load.send(&sender, 4).await; load.send(&sender, usize::MAX).await; std::future::pending().await } => {}
        () = zombie.until_stopped() => {}
    }
    let successor = site.start(role.command()).await;
    let sender = if role == Role::Work { sender } else { successor.sender() };
    load.send_rest(&sender).await;
    if role != Role::Receive {
        until_all_is_finished(&mut conn).await;
    }
    zombie.go_on();
    // A stop in good order: whatever it was about to do, it has done.
    zombie.stop().await;
    until_all_is_finished(&mut conn).await;
    let effects = Effects(destination.received().split_off(REFUSED));
    assert_all_is_well_after(&load, &effects, &mut conn, Zombies::MayActLate).await;
    successor.stop().await;
    if let Some(companion) = companion {
        companion.stop().await;
    }
}

/// The connection breaks at the point, and the process lives.
async fn survive_an_error(role: Role, point: &str) {
    let database = fresh_database().await;
    let mut conn = database.connect().await;
    let destination = TestDestination::start(vec![Reply::Status(503); REFUSED]).await;
    let site = Site::new(&config(&destination.url()), database.url());
    // Three times in a row; a rescue is rare enough to fail at once.
    let passes = if point == "before_rescue" { "" } else { "2*off->" };
    let struck = site.start_doomed(role.command(), &format!("{point}={passes}3*return(error)->off")).await;
    let companion = match role.companion() {
        Some(command) => Some(site.start(command).await),
        None => None,
    };
    let sender = if role == Role::Work { companion.as_ref().expect("it receives").sender() } else { struck.sender() };
    let mut load = Load::new(2, 4);
    load.send(&sender, 4).await;
    load.send(&sender, usize::MAX).await;
    if point == "before_rescue" {
        // Something to rescue.
        until("jobs wait", async || number(&mut conn, "select count(*) from apalis.jobs").await > 0).await;
        sqlx::raw_sql("delete from apalis.jobs").execute(&mut conn).await.unwrap();
    }
    for _ in 0..4 {
        load.send(&sender, usize::MAX).await;
    }
    load.send_rest(&sender).await;
    until_all_is_finished(&mut conn).await;
    let effects = Effects(destination.received().split_off(REFUSED));
    assert_all_is_well_after(&load, &effects, &mut conn, Zombies::None).await;
    assert!(struck.log().contains(&format!("crash point {point}:")), "it was struck:\n{}", struck.log());
    struck.stop().await;
    if let Some(companion) = companion {
        companion.stop().await;
    }
}

/// One test for each point and role.
macro_rules! matrix {
    ($run:ident: $($role:ident at $($point:ident),+;)+) => {
        $(mod $role {
            $(#[tokio::test]
            async fn $point() {
                super::super::$run(super::role(stringify!($role)), stringify!($point)).await;
            })+
        })+
    };
}

fn role(name: &str) -> Role {
    match name {
        "serve" => Role::Serve,
        "receive" => Role::Receive,
        "work" => Role::Work,
        other => panic!("no role is called {other}"),
    }
}

mod stopped_beyond_its_lease {
    use super::role;
    matrix! { survive_a_stop:
        serve at before_record, after_record, before_answer, claimed, before_effect, after_effect, before_settle,
                 after_settle, before_next_job, after_next_job, after_job;
        receive at before_record, after_record, before_answer;
        work at claimed, before_effect, after_effect, before_settle, after_settle, before_next_job, after_next_job,
                after_job;
    }
}

mod with_a_broken_connection {
    use super::role;
    matrix! { survive_an_error:
        serve at before_record, after_record, before_answer, claimed, before_effect, after_effect, before_settle,
                 after_settle, before_next_job, after_next_job, after_job,
                before_rescue;
        receive at before_record, after_record, before_answer;
        work at claimed, before_effect, after_effect, before_settle, after_settle, before_next_job, after_next_job,
                after_job,
                before_rescue;
    }
}
