//! A desk of this process, on the database that the configuration names. Whoever may open the database may do everything.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    blueprint::Blueprint,
    cli::{
        Globals,
        database_access::{open_pool, server_for_command},
    },
    clock::Clock,
    config::Config,
    database::Server,
    operate::{Desk, Instruction, Operator, Role, Via},
    run::Doorbell,
};

/// A desk, and the server behind it.
pub struct LocalDesk {
    desk: Desk,
    operator: Operator,
    server: Server,
}

impl LocalDesk {
    /// Opens the configured database.
    pub(super) async fn open(globals: &Globals) -> anyhow::Result<Self> {
        let config = globals.load_to_look()?;
        let server = server_for_command(&config).await?;
        match desk(&server, config).await {
            Ok(desk) => Ok(Self { desk, operator: account(), server }),
            Err(error) => {
                server.leave().await?;
                Err(error)
            }
        }
    }

    /// The desk.
    pub(super) fn desk(&self) -> &Desk {
        &self.desk
    }

    /// An order of whoever runs this command.
    pub(super) fn instruction<'a>(&'a self, reason: Option<&'a str>) -> Instruction<'a> {
        Instruction { by: &self.operator, reason }
    }

    pub(super) async fn close(self) -> anyhow::Result<()> {
        self.desk.pool.close().await;
        self.server.leave().await
    }
}

async fn desk(server: &Server, config: Config) -> anyhow::Result<Desk> {
    let pool = open_pool(server, &config).await?;
    let live = blueprint(config)?.live();
    // Nobody of this process hears the bell: workers of others look on their own, four times a second.
    Ok(Desk { pool, live, bell: Doorbell::default() })
}

/// The configuration made ready. One with mistakes in its routes or destinations can still be used to look at receipts.
fn blueprint(config: Config) -> anyhow::Result<Blueprint> {
    let clock = Clock::system();
    let config = Arc::new(config);
    Blueprint::of(config.clone(), &clock).or_else(|mistake| {
        eprintln!("note: routes and destinations of the configuration are left out, they have mistakes (\"oncehook check\"): {mistake}");
        let bare = Config { routes: Vec::new(), destinations: BTreeMap::new(), ..Config::clone(&config) };
        Ok(Blueprint::of(Arc::new(bare), &clock)?)
    })
}

/// The account on this machine, for the audit log.
fn account() -> Operator {
    let uid = nix::unistd::getuid();
    let user = nix::unistd::User::from_uid(uid).ok().flatten().map_or_else(|| format!("uid {uid}"), |user| user.name);
    let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned());
    let name = format!("{user}@{}", host.unwrap_or_else(|_| "this machine".to_owned()));
    Operator { name, role: Role::Operate, via: Via::CommandLine }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_changes_something_is_their_account_on_the_machine() {
        let operator = account();
        let (user, host) = operator.name.split_once('@').unwrap();
        assert!(!user.is_empty() && !host.is_empty(), "{}", operator.name);
        assert_eq!((operator.role, operator.via), (Role::Operate, Via::CommandLine));
    }
}
