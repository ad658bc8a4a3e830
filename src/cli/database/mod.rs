//! `oncehook database`: the way to the database itself, for people who want to look or to save.

mod address;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use tokio::{
    process::Command,
    signal::unix::{SignalKind, signal},
};

use self::address::{masked, without_password};
use super::{Globals, database_access::server_for_command, output::print};
use crate::{config::Config, database::Server, postgres::SearchPaths};

/// Gives the database's URL, or opens it with `psql` or `pg_dump`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Prints the database's URL, its password masked.
    Url {
        /// Prints the password too.
        #[arg(long)]
        show_password: bool,
    },
    /// Opens `psql` on the database.
    Psql(Program),
    /// Writes the database with `pg_dump`, to standard output unless told otherwise.
    Dump(Program),
}

/// A program of PostgreSQL's.
#[derive(Debug, clap::Args)]
struct Program {
    /// What to give to the program, after "--".
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<std::ffi::OsString>,
}

/// Runs the subcommand.
///
/// # Errors
/// When the server cannot be started, or the program is not installed.
pub async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let config = globals.load_to_look()?;
    let (name, program) = match &options.action {
        Action::Url { show_password } => return url(&config, *show_password).await,
        Action::Psql(program) => ("psql", program),
        Action::Dump(program) => ("pg_dump", program),
    };
    let server = server_for_command(&config).await?;
    let done = open(name, program, server.url()).await;
    server.leave().await?;
    done
}

async fn url(config: &Config, show_password: bool) -> anyhow::Result<ExitCode> {
    let server = Server::running(config).await?.with_context(|| {
        format!(
            "the embedded PostgreSQL in {} does not run: start it with \"oncehook serve\"",
            config.data_dir.display()
        )
    })?;
    let shown = if show_password { server.url().to_owned() } else { masked(server.url()) };
    server.leave().await?;
    print(&shown)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a program on the database and waits for it.
async fn open(name: &str, program: &Program, url: &str) -> anyhow::Result<ExitCode> {
    let path = find_program(name)?;
    let (url, password) = without_password(url);
    // Ctrl-C is the program's own affair (psql ends a query with it); we wait for its end, to stop what we started.
    let _caught = signal(SignalKind::interrupt()).context("failed to listen to signals")?;
    let mut command = Command::new(&path);
    command.arg("--dbname").arg(url).args(&program.arguments).env("PGAPPNAME", "oncehook database");
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    let status = command.status().await.with_context(|| format!("failed to run {}", path.display()))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

fn find_program(name: &str) -> anyhow::Result<PathBuf> {
    let folders = SearchPaths::usual().0;
    folders
        .iter()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .with_context(|| format!("{name} is not installed: on Debian, \"apt-get install postgresql-client\" brings it"))
}
