//! Brings a database to the schema of this binary: takes a way in, gives the schemas `apalis` and `oncehook` in their
//! newest form. It never goes back, and never touches a schema newer than it knows.
//!
//! This file and `run/` are the only ones that know the apalis crate.

use apalis_postgres::PostgresStorage;
use sqlx::{
    ConnectOptions as _, Connection as _, PgConnection,
    migrate::{MigrateError as SqlxMigrateError, Migrator},
    postgres::PgConnectOptions,
};

use super::{StoreError, connect};

/// Only Oncehook's migrators use this number ("oncehook" in ASCII).
const LOCK: i64 = i64::from_be_bytes(*b"oncehook");
const HISTORY: &str = "oncehook._sqlx_migrations";

/// Why the schema could not be brought up to date.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// The schema is newer than this binary.
    #[error(
        "the {schema} schema of this database holds migration {version}, which this Oncehook ({}) does not know: a newer \
         one has been here. Run that version or a newer one; nothing was changed",
        env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// `oncehook` or `apalis`.
        schema: &'static str,
        /// The unknown migration.
        version: i64,
    },
    /// A migration is not the one that was applied.
    #[error(
        "migration {version} of the {schema} schema differs from the one that made this database. Use the binary of a \
         release, or a database of your own for changed migrations; nothing was changed"
    )]
    Changed {
        /// `oncehook` or `apalis`.
        schema: &'static str,
        /// Which.
        version: i64,
    },
    /// The role may not do what migrations do.
    #[error(
        "the database role may not change the schema ({message}). Make it the owner of the database: alter database \
         {database} owner to {role}; or run `oncehook migrate` once as the owner"
    )]
    Denied {
        /// What the server said.
        message: String,
        /// The database.
        database: String,
        /// The role.
        role: String,
    },
    /// An extension of PostgreSQL's own distribution is not installed on the server.
    #[error(
        "the server lacks an extension ({message}). Install PostgreSQL's contrib package on the server: apt-get install \
         postgresql-contrib, or dnf install postgresql-contrib"
    )]
    NoExtension {
        /// What the server said.
        message: String,
    },
    /// Anything else in a migration.
    #[error("a migration of the {schema} schema failed: {source}")]
    Failed {
        /// `oncehook` or `apalis`.
        schema: &'static str,
        /// Why.
        source: SqlxMigrateError,
    },
    /// The database cannot be reached.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Applies what is missing: apalis' own migrations, then ours.
///
/// Safe for any number of processes at once: one works, the others wait and then find nothing to do. The owner of the
/// database suffices, no superuser.
///
/// Locks: an advisory lock for the time of a transaction, on a connection of its own, so that it holds through PgBouncer in
/// transaction mode too; each migration takes its table locks in its own transaction.
///
/// # Errors
/// See [`MigrateError`]; a migration that fails leaves nothing of itself behind.
pub async fn migrate(options: &PgConnectOptions) -> Result<(), MigrateError> {
    let mut guard = open(options).await?;
    let mut guard_tx = guard.begin().await.map_err(StoreError::from)?;
    sqlx::query!("select pg_advisory_xact_lock($1)", LOCK).execute(&mut *guard_tx).await.map_err(StoreError::from)?;
    let mut connection = open(options).await?;
    apply(options, &mut connection, "apalis", &apalis_migrations()).await?;
    apply(options, &mut connection, "oncehook", &migrations()).await?;
    // These end the lock and the connections; a failure to say good-bye changes nothing of what is done.
    let _ = guard_tx.commit().await;
    let _ = connection.close().await;
    let _ = guard.close().await;
    Ok(())
}

/// A session for migrations: they may take long, and whoever waits for them must.
async fn open(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    let options = connect::pin(options.clone(), "oncehook migrate").options([
        ("statement_timeout", "0"),
        ("lock_timeout", "0"),
        ("idle_in_transaction_session_timeout", "0"),
        // "schema exists, skipping" is no news.
        ("client_min_messages", "warning"),
    ]);
    Ok(options.connect().await?)
}

/// Our migrations; their history is kept in our own schema, out of the way of other users of the database.
#[must_use]
pub fn migrations() -> Migrator {
    let mut migrator = sqlx::migrate!("./migrations");
    migrator.dangerous_set_table_name(HISTORY);
    migrator.create_schema("oncehook");
    migrator.set_locking(false);
    migrator
}

/// How the schema stands to this binary's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    /// Oncehook was never here.
    Absent,
    /// It is this binary's.
    Current,
    /// These migrations are missing.
    Behind(Vec<i64>),
    /// This migration is of a newer Oncehook.
    Newer(i64),
}

/// Compares our schema with this binary's. Changes nothing, and takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn look_at_schema(conn: &mut PgConnection) -> Result<SchemaState, StoreError> {
    // Not checked when compiled: sqlx makes this table, so that no migration of ours does.
    let is_there: bool =
        sqlx::query_scalar("select to_regclass('oncehook._sqlx_migrations') is not null").fetch_one(&mut *conn).await?;
    if !is_there {
        return Ok(SchemaState::Absent);
    }
    let applied: Vec<i64> =
        sqlx::query_scalar("select version from oncehook._sqlx_migrations where success order by version")
            .fetch_all(conn)
            .await?;
    let known: Vec<i64> = migrations().iter().map(|migration| migration.version).collect();
    if let Some(newer) = applied.iter().find(|version| !known.contains(version)) {
        return Ok(SchemaState::Newer(*newer));
    }
    let missing: Vec<i64> = known.into_iter().filter(|version| !applied.contains(version)).collect();
    Ok(if missing.is_empty() { SchemaState::Current } else { SchemaState::Behind(missing) })
}

fn apalis_migrations() -> Migrator {
    let mut migrator = PostgresStorage::migrations();
    // Ours is held already, and a session lock would not survive a pooler.
    migrator.set_locking(false);
    migrator
}

async fn apply(
    options: &PgConnectOptions,
    connection: &mut PgConnection,
    schema: &'static str,
    migrator: &Migrator,
) -> Result<(), MigrateError> {
    match migrator.run_direct(None, connection, false).await {
        Ok(()) => Ok(()),
        Err(SqlxMigrateError::VersionMissing(version)) => Err(MigrateError::Newer { schema, version }),
        Err(SqlxMigrateError::VersionMismatch(version)) => Err(MigrateError::Changed { schema, version }),
        Err(source) => Err(explain(options, schema, source)),
    }
}

fn explain(options: &PgConnectOptions, schema: &'static str, source: SqlxMigrateError) -> MigrateError {
    let database_error = match &source {
        SqlxMigrateError::Execute(error) | SqlxMigrateError::ExecuteMigration(error, _) => error.as_database_error(),
        _ => None,
    };
    let Some(error) = database_error else { return MigrateError::Failed { schema, source } };
    let message = error.message().to_owned();
    match error.code().as_deref() {
        Some("42501") => MigrateError::Denied {
            message,
            database: options.get_database().unwrap_or(options.get_username()).to_owned(),
            role: options.get_username().to_owned(),
        },
        // 58P01 before PostgreSQL 17: "could not open extension control file"; 0A000 since: "is not available".
        Some("58P01" | "0A000") if message.contains("extension") => MigrateError::NoExtension { message },
        _ => MigrateError::Failed { schema, source },
    }
}
