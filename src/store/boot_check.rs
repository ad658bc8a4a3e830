//! Whether a database may be trusted with receipts: takes a connection, gives everything that speaks against it at once,
//! each with what to do. It changes nothing.

use std::fmt;

use sqlx::PgConnection;

use super::StoreError;

const VERSION_MIN: i32 = 140_000;

/// Why this database cannot keep the promises.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Unfit {
    /// One sentence each: what is wrong, what it would break, what to do.
    pub problems: Vec<String>,
}

/// Why the check did not pass.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BootCheckError {
    /// The database is unfit.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// It could not be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What the check looks at.
#[derive(Debug, Clone)]
struct Facts {
    version: i32,
    version_name: String,
    encoding: String,
    is_standby: bool,
    is_read_only: bool,
    fsync: String,
    full_page_writes: String,
    synchronous_commit: String,
}

/// Looks at the database behind a connection of [`super::connect`]. Takes no locks.
///
/// # Errors
/// [`Unfit`] with all problems, or the failure to ask.
pub async fn run(connection: &mut PgConnection) -> Result<(), BootCheckError> {
    let facts = read_facts(connection).await?;
    let problems = problems_of(&facts);
    if problems.is_empty() { Ok(()) } else { Err(Unfit { problems }.into()) }
}

async fn read_facts(connection: &mut PgConnection) -> Result<Facts, StoreError> {
    let facts = sqlx::query_as!(
        Facts,
        r#"select current_setting('server_version_num')::integer as "version!",
                  current_setting('server_version') as "version_name!",
                  current_setting('server_encoding') as "encoding!",
                  pg_is_in_recovery() as "is_standby!",
                  current_setting('transaction_read_only') = 'on' as "is_read_only!",
                  current_setting('fsync') as "fsync!",
                  current_setting('full_page_writes') as "full_page_writes!",
                  current_setting('synchronous_commit') as "synchronous_commit!""#
    )
    .fetch_one(connection)
    .await?;
    Ok(facts)
}

fn problems_of(facts: &Facts) -> Vec<String> {
    let mut problems = Vec::new();
    if facts.version < VERSION_MIN {
        problems.push(format!(
            "the server is PostgreSQL {}, and Oncehook needs 14 or newer. Upgrade it, or unset database.url to use an \
             embedded one",
            facts.version_name
        ));
    }
    if facts.encoding != "UTF8" {
        problems.push(format!(
            "the database's encoding is {}, in which not every delivery id can be stored. Make a new one: create \
             database oncehook encoding 'UTF8' template template0",
            facts.encoding
        ));
    }
    if facts.is_standby {
        problems.push(
            "the server is a standby and takes no writes. Connect to the primary (target_session_attrs, or the right host)"
                .to_owned(),
        );
    } else if facts.is_read_only {
        problems.push(
            "the session is read-only. Run: alter database oncehook reset default_transaction_read_only, and the same \
             for the role"
                .to_owned(),
        );
    }
    for (name, value) in [("fsync", &facts.fsync), ("full_page_writes", &facts.full_page_writes)] {
        if value != "on" {
            problems.push(format!(
                "{name} is {value}: a power cut would lose or destroy receipts that were answered with 200. Run: alter \
                 system set {name} = on; select pg_reload_conf()"
            ));
        }
    }
    #[cfg(feature = "sabotage")]
    if crate::sabotage::is_on(crate::sabotage::Sabotage::AsynchronousCommit) {
        return problems;
    }
    // Stricter is fine: remote_apply waits for standbys too.
    if !["on", "remote_apply"].contains(&facts.synchronous_commit.as_str()) {
        problems.push(format!(
            "synchronous_commit is {} although Oncehook asks for on with every connection, so a pooler in between drops \
             our settings. Run: alter role CURRENT_USER set synchronous_commit = on",
            facts.synchronous_commit
        ));
    }
    problems
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this database cannot keep what a 2xx promises:")?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n  - {problem}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit() -> Facts {
        Facts {
            version: 150_018,
            version_name: "15.18".to_owned(),
            encoding: "UTF8".to_owned(),
            is_standby: false,
            is_read_only: false,
            fsync: "on".to_owned(),
            full_page_writes: "on".to_owned(),
            synchronous_commit: "on".to_owned(),
        }
    }

    #[test]
    fn a_fit_database_has_no_problems() {
        assert_eq!(problems_of(&fit()), Vec::<String>::new());
        assert_eq!(
            problems_of(&Facts { synchronous_commit: "remote_apply".to_owned(), ..fit() }),
            Vec::<String>::new()
        );
    }

    #[test]
    fn each_unfit_fact_is_named_with_what_to_do() {
        let off = || "off".to_owned();
        let cases = [
            (Facts { version: 130_011, version_name: "13.11".to_owned(), ..fit() }, "PostgreSQL 13.11"),
            (Facts { encoding: "LATIN1".to_owned(), ..fit() }, "encoding 'UTF8'"),
            (Facts { is_standby: true, is_read_only: true, ..fit() }, "primary"),
            (Facts { is_read_only: true, ..fit() }, "default_transaction_read_only"),
            (Facts { fsync: off(), ..fit() }, "alter system set fsync = on"),
            (Facts { full_page_writes: off(), ..fit() }, "alter system set full_page_writes = on"),
            (Facts { synchronous_commit: off(), ..fit() }, "set synchronous_commit = on"),
            (Facts { synchronous_commit: "local".to_owned(), ..fit() }, "synchronous_commit is local"),
        ];
        for (facts, words) in cases {
            let problems = problems_of(&facts);
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].contains(words), "{problems:?}");
        }
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let facts = Facts { fsync: "off".to_owned(), encoding: "LATIN1".to_owned(), ..fit() };
        assert_eq!(Unfit { problems: problems_of(&facts) }.to_string().matches("\n  - ").count(), 2);
    }
}
