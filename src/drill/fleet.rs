//! Receivers and workers over one database: their configuration, their processes.

use std::{fmt::Write as _, net::SocketAddr, path::PathBuf, sync::Arc};

use anyhow::Context as _;
use tokio::task::JoinSet;

use super::{
    Ground,
    home::Home,
    member::{self, Member, Recipe},
};

/// The lease of the drill's workers, by which SIGSTOP is measured. Short, so that much happens in a minute.
pub const LEASE: std::time::Duration = std::time::Duration::from_secs(3);

/// What the drill's own sender signs with.
pub const SECRET: &str = "drill-secret-kept-in-no-file";
const SECRET_VARIABLE: &str = "ONCEHOOK_DRILL_SECRET";

/// Where deliveries of a source go, and how.
#[derive(Debug, Clone)]
pub struct Way {
    /// Of the route, and of its destination.
    pub name: &'static str,
    /// The source of its events.
    pub source: &'static str,
    /// The keys of the destination's table.
    pub destination: String,
    /// `arrival` or `none`.
    pub order: &'static str,
    /// The type of events that go there; `*` is all.
    pub events: &'static str,
}

/// What all processes of a fleet share.
#[derive(Debug, Clone)]
pub struct Site {
    /// What the names of its files begin with.
    pub name: &'static str,
    /// The database.
    pub database_url: String,
    /// The routes.
    pub ways: Vec<Way>,
    /// A safety to be switched off in each process, for a negative control.
    pub control: Option<&'static str>,
}

/// The processes.
#[derive(Debug)]
pub struct Fleet {
    /// Those that take webhooks.
    pub receivers: Vec<Arc<Member>>,
    /// Where each of them does.
    pub intakes: Vec<SocketAddr>,
    /// Those that run deliveries.
    pub workers: Vec<Arc<Member>>,
    keepers: JoinSet<anyhow::Result<()>>,
}

impl Site {
    /// The configuration. What differs between processes is set in their environment.
    fn config(&self) -> String {
        let mut text = format!(
            "# Written by `oncehook drill`: short leases and short waits, so that much happens in a minute.\n\
             [database]\nconnections_max = 12\n\n\
             [intake]\nrecord_timeout = \"4s\"\n\n\
             [run]\nconcurrency = 16\nlease = \"{}s\"\nheartbeat = \"1s\"\nrescue = \"1s\"\npoll = \"100ms\"\n\
             crashes_max = 100\n\n\
             [shutdown]\ngrace = \"5s\"\n\n\
             [sources.github]\nprovider = \"github\"\nsecrets = [{{ env = \"{SECRET_VARIABLE}\" }}]\n",
            LEASE.as_secs()
        );
        for Way { name, source, destination, order, events } in &self.ways {
            let _ = write!(
                text,
                "\n[destinations.{name}]\n{destination}\n\n[[routes]]\nname = \"{name}\"\nsource = \"{source}\"\n\
                 events = [\"{events}\"]\norder = \"{order}\"\ndestination = \"{name}\"\n\
                 retry = {{ attempts = 1000, initial = \"100ms\", max = \"2s\" }}\n"
            );
        }
        text
    }

    fn config_file(&self, home: &Home) -> PathBuf {
        home.file(&format!("{}.toml", self.name))
    }

    fn recipe(&self, home: &Home, name: &str, arguments: &[&str]) -> anyhow::Result<(Recipe, SocketAddr)> {
        let (intake, admin) = (member::free_address()?, member::free_address()?);
        let config = self.config_file(home).to_string_lossy().into_owned();
        let data_dir = home.file(&format!("{name}-data")).to_string_lossy().into_owned();
        let mut environment = vec![
            ("DATABASE_URL".to_owned(), self.database_url.clone()),
            ("ONCEHOOK_DATA_DIR".to_owned(), data_dir),
            ("ONCEHOOK_INTAKE__LISTEN".to_owned(), intake.to_string()),
            ("ONCEHOOK_ADMIN__LISTEN".to_owned(), admin.to_string()),
            (SECRET_VARIABLE.to_owned(), SECRET.to_owned()),
        ];
        environment.extend(self.control.iter().map(|control| ("ONCEHOOK_SABOTAGE".to_owned(), (*control).to_owned())));
        let recipe = Recipe {
            name: name.to_owned(),
            arguments: arguments
                .iter()
                .map(|&argument| argument.to_owned())
                .chain(["--config".into(), config])
                .collect(),
            environment,
            address: admin,
            log: home.log_of(name),
        };
        Ok((recipe, intake))
    }

    /// Brings the database's schema up to date, so that processes that start together need not queue for it.
    ///
    /// # Errors
    /// When `oncehook migrate` fails.
    pub async fn migrate(&self, ground: &Ground<'_>) -> anyhow::Result<()> {
        let home = ground.home;
        std::fs::write(self.config_file(home), self.config()).context("failed to write the drill's configuration")?;
        let (recipe, _) = self.recipe(home, &format!("{}-migrate", self.name), &["migrate"])?;
        let status = member::spawn(&recipe)?.wait().await.context("failed to wait for the migration")?;
        anyhow::ensure!(status.success(), "the migration failed ({status}); its log is {}", recipe.log.display());
        Ok(())
    }
}

impl Fleet {
    /// Starts `nodes` receivers and as many workers, and waits until all of them are up.
    ///
    /// # Errors
    /// When one does not come up.
    pub async fn start(ground: &Ground<'_>, site: &Site, nodes: usize) -> anyhow::Result<Self> {
        let (home, roster) = (ground.home, ground.roster);
        let prefix = if site.name == "load" { "" } else { site.name };
        let mut fleet =
            Self { receivers: Vec::new(), intakes: Vec::new(), workers: Vec::new(), keepers: JoinSet::new() };
        for number in 1..=nodes {
            let (receiver, intake) =
                site.recipe(home, &format!("{prefix}receiver-{number}"), &["serve", "--no-work"])?;
            fleet.receivers.push(roster.add(receiver));
            fleet.intakes.push(intake);
            let (worker, _) = site.recipe(home, &format!("{prefix}worker-{number}"), &["work"])?;
            fleet.workers.push(roster.add(worker));
        }
        let members: Vec<_> = fleet.members().cloned().collect();
        for member in members {
            fleet.keepers.spawn(async move { member.keep().await });
        }
        for member in fleet.receivers.iter().chain(&fleet.workers) {
            member.until_up().await?;
        }
        Ok(fleet)
    }

    /// All of its processes.
    pub fn members(&self) -> impl Iterator<Item = &Arc<Member>> {
        self.receivers.iter().chain(&self.workers)
    }

    /// Ends all of them.
    pub async fn end(mut self) {
        self.members().for_each(|member| member.end());
        while self.keepers.join_next().await.is_some() {}
    }
}
