//! `oncehook tokens`: who may use the operator's port. On the database itself, so that whoever can reach that can replace a token
//! that was lost.

use std::{process::ExitCode, time::Duration};

use super::{
    Globals, NOT_FOUND,
    database_access::OpenDatabase,
    output::{count, print, print_json, table},
    stamp::short_stamp,
};
use crate::{
    domain::TokenName,
    operate::{self, OperateError, Operator, Role, TokenLine, Via},
};

/// The longest time that a token may be given. One that nobody will renew is better made without an end, and revoked.
const LASTS_MAX: Duration = Duration::from_secs(3_650 * 86_400);

/// Lists, makes and revokes the tokens of operators.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Lists the tokens, without what would let anybody in.
    List,
    /// Makes a token and shows it, once.
    Create {
        /// What it is called in the audit log: a person, a program.
        name: TokenName,
        /// What its holder may do.
        #[arg(long)]
        role: RoleName,
        /// How long it is good, such as 30d. Without: until it is revoked.
        #[arg(long, value_name = "TIME", value_parser = lasts)]
        expires: Option<Duration>,
    },
    /// Takes a token back. Whoever is signed in with it is so no more.
    Revoke {
        /// Which.
        name: TokenName,
    },
}

/// The roles, as one types them.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RoleName {
    /// Looks at everything.
    Read,
    /// Changes things too.
    Operate,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Read => Self::Read,
            RoleName::Operate => Self::Operate,
        }
    }
}

fn lasts(text: &str) -> Result<Duration, String> {
    let lasts = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if (Duration::from_secs(60)..=LASTS_MAX).contains(&lasts) {
        Ok(lasts)
    } else {
        Err("write a time from 1m to 3650d, such as 30d".to_owned())
    }
}

/// Runs the subcommand.
///
/// # Errors
/// When the configuration is not usable, the database cannot be asked, or there is a token of that name already.
pub async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    match options.action {
        Action::List => list(globals).await,
        Action::Create { name, role, expires } => create(globals, &name, role.into(), expires).await,
        Action::Revoke { name } => revoke(globals, &name).await,
    }
}

async fn list(globals: &Globals) -> anyhow::Result<ExitCode> {
    let configured: Vec<(TokenName, Role)> =
        globals.load_to_look()?.admin.tokens.into_iter().map(|token| (token.name, token.role)).collect();
    let mut database = OpenDatabase::of(globals).await?;
    let lines = operate::list_tokens(database.conn()).await;
    let lines = close(database, lines).await??;
    if globals.json {
        let written = configured.iter().map(|(name, role)| serde_json::json!({ "name": name, "role": role }));
        print_json(&serde_json::json!({ "configuration": written.collect::<Vec<_>>(), "database": lines }))?;
    } else {
        print(&view(&configured, &lines))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn view(configured: &[(TokenName, Role)], lines: &[TokenLine]) -> String {
    if configured.is_empty() && lines.is_empty() {
        return "no tokens: the next start of \"oncehook serve\" makes one, or \"oncehook tokens create NAME --role operate\"".to_owned();
    }
    let of_file = configured.iter().map(|(name, role)| {
        let [name, role] = [name.as_str(), role.as_str()].map(str::to_owned);
        vec![name, role, "configuration".to_owned(), "-".to_owned(), "-".to_owned(), "-".to_owned()]
    });
    let of_table = lines.iter().map(|line| {
        let stamp = |at: Option<_>, never: &str| at.map_or(never.to_owned(), short_stamp);
        let expires = stamp(line.expires_at, "never") + if line.is_expired { " (over)" } else { "" };
        let [name, role] = [line.name.as_str(), line.role.as_str()].map(str::to_owned);
        vec![
            name,
            role,
            "database".to_owned(),
            short_stamp(line.created_at),
            expires,
            stamp(line.last_used_at, "never"),
        ]
    });
    let header = ["name", "role", "kept in", "made (UTC)", "expires", "last used"];
    table(&header, of_file.chain(of_table).collect())
}

async fn create(globals: &Globals, name: &TokenName, role: Role, lasts: Option<Duration>) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        name.as_str() != TokenName::ANYONE && name.as_str() != "oncehook",
        "the name {name} does not stand for one person or program: take another"
    );
    anyhow::ensure!(
        !globals.load_to_look()?.admin.tokens.iter().any(|token| token.name == *name),
        "the configuration has a token {name} already, and nobody could tell the two apart: take another name"
    );
    let mut database = OpenDatabase::of(globals).await?;
    let token = operate::create_token(database.conn(), name, role, lasts, &account()).await;
    let token = close(database, token).await??;
    // Shown on purpose: it is what was asked for, and is kept nowhere.
    if globals.json {
        print_json(&serde_json::json!({ "name": name, "role": role, "token": token.expose() }))?;
    } else {
        print(&format!("the token {name} (role {}) is shown this once:\n  {}", role.as_str(), token.expose()))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn revoke(globals: &Globals, name: &TokenName) -> anyhow::Result<ExitCode> {
    let mut database = OpenDatabase::of(globals).await?;
    let revoked = operate::revoke_token(database.conn(), name, &account()).await;
    match close(database, revoked).await? {
        Ok(revoked) if globals.json => {
            print_json(&serde_json::json!({ "name": name, "sessions": revoked.sessions }))?;
        }
        Ok(revoked) => {
            let sessions = usize::try_from(revoked.sessions).unwrap_or(usize::MAX);
            print(&format!("the token {name} is revoked; {} ended", count(sessions, "session", "sessions")))?;
        }
        Err(OperateError::NotFound { .. }) => {
            eprintln!(
                "there is no token {name} in the database: \"oncehook tokens list\" shows all; one of the configuration is removed there"
            );
            return Ok(ExitCode::from(NOT_FOUND));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Leaves the database. Its own errors are explained; the others say themselves what to do.
async fn close<T>(database: OpenDatabase, result: operate::Result<T>) -> anyhow::Result<operate::Result<T>> {
    match result {
        Err(OperateError::Store(error)) => database.close(Err(error)).await,
        other => database.close(Ok(other)).await,
    }
}

/// Whoever types: the account on this machine.
fn account() -> Operator {
    let uid = nix::unistd::geteuid();
    let name = nix::unistd::User::from_uid(uid).ok().flatten().map_or(format!("uid {uid}"), |user| user.name);
    Operator { name, role: Role::Operate, via: Via::CommandLine }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sample;

    #[test]
    fn a_list_of_tokens_says_whose_they_are_and_when_they_end() {
        assert!(view(&[], &[]).contains("oncehook tokens create"));
        let line = |name: &str, is_expired: bool| TokenLine {
            name: name.to_owned(),
            role: Role::Operate,
            created_at: sample::morning(),
            expires_at: is_expired.then(sample::morning),
            last_used_at: is_expired.then(sample::morning),
            is_expired,
        };
        let configured = [("grafana".parse().unwrap(), Role::Read)];
        insta::assert_snapshot!(view(&configured, &[line("admin", false), line("anna", true)]), @r"
        name     role     kept in        made (UTC)           expires                     last used
        grafana  read     configuration  -                    -                           -
        admin    operate  database       2026-01-05 10:00:00  never                       never
        anna     operate  database       2026-01-05 10:00:00  2026-01-05 10:00:00 (over)  2026-01-05 10:00:00
        ");
    }

    #[test]
    fn a_time_has_bounds() {
        assert_eq!(lasts("30d"), Ok(Duration::from_secs(30 * 86_400)));
        for other in ["", "30", "0s", "1s", "4000d", "-1d"] {
            assert!(lasts(other).is_err(), "{other}");
        }
    }
}
