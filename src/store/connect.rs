//! Ways into the database: takes the configured or embedded one, gives connections whose settings Oncehook relies on are
//! pinned, whatever the server's or the role's defaults are.

use sqlx::{
    ConnectOptions as _, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use super::{StoreError, pool::guarded};
use crate::config;

/// Settings of every session, sent with the first message of a connection.
///
/// Invariant: `synchronous_commit` is on for every commit (promise P1). The time-outs bound what one stuck statement, lock
/// or forgotten transaction can hold up; a statement that needs longer says so in its own transaction.
const PINNED: [(&str, &str); 5] = [
    ("synchronous_commit", "on"),
    // apalis writes `hstore` without a schema, and its extensions live here.
    ("search_path", "public"),
    ("statement_timeout", "30s"),
    ("lock_timeout", "10s"),
    ("idle_in_transaction_session_timeout", "60s"),
];

/// Reads `database.url`.
///
/// # Errors
/// A URL that PostgreSQL's rules do not allow. The message never holds the URL, since that holds the password.
pub fn options_of_url(url: &secrecy::SecretString) -> Result<PgConnectOptions, StoreError> {
    use secrecy::ExposeSecret as _;
    url.expose_secret().parse().map_err(|_: sqlx::Error| StoreError::Unusable {
        problem:
            "database.url is no PostgreSQL URL. Write postgres://user:password@host:5432/database, with %40 for an \
                  @ and %2F for a / in the password"
                .to_owned(),
    })
}

/// Pins what every session needs. `application` is what `pg_stat_activity` shows, such as `oncehook serve`.
#[must_use]
pub fn pin(options: PgConnectOptions, application: &str) -> PgConnectOptions {
    let options = options.application_name(application).options(PINNED).disable_statement_logging();
    #[cfg(feature = "sabotage")]
    if crate::sabotage::is_on(crate::sabotage::Sabotage::AsynchronousCommit) {
        return options.options([("synchronous_commit", "off")]);
    }
    options
}

/// Sets a session up for recording, whose statements find every row by an index.
///
/// A plan that was made while the tables were empty reads them from end to end, and a session keeps its plans until the
/// tables are analysed, which is a minute of thousands of receipts later. Here that choice is not open.
#[must_use]
pub fn for_recording(options: PgConnectOptions) -> PgConnectOptions {
    options.options([("enable_seqscan", "off")])
}

/// Opens a pool, and its first connection, so that a wrong host or password shows at once.
///
/// # Errors
/// The first connection's.
pub async fn connect(
    options: PgConnectOptions,
    database: &config::Database,
    application: &str,
) -> Result<PgPool, StoreError> {
    open(pin(options, application), database).await
}

/// Opens a pool for operators, whose questions may be expensive: a statement that takes longer than 10 s is given up, so that
/// a search never stands in the way of the work for longer.
///
/// # Errors
/// The first connection's.
pub async fn connect_for_operators(
    options: PgConnectOptions,
    database: &config::Database,
    application: &str,
) -> Result<PgPool, StoreError> {
    open(pin(options, application).options([("statement_timeout", "10s")]), database).await
}

async fn open(options: PgConnectOptions, database: &config::Database) -> Result<PgPool, StoreError> {
    let pool = guarded(PgPoolOptions::new())
        .max_connections(database.connections_max)
        .acquire_timeout(database.acquire_timeout)
        .connect_lazy_with(options.clone());
    // Outside of the pool, which would try again until its time-out and then say only that time was up.
    let first = options.connect().await.map_err(explain)?;
    sqlx::Connection::close(first).await?;
    Ok(pool)
}

fn explain(error: sqlx::Error) -> StoreError {
    let message = error.as_database_error().map(|error| error.message().to_owned()).unwrap_or_default();
    if message.contains("startup parameter") {
        return StoreError::Unusable {
            problem: format!(
                "PgBouncer refuses our settings ({message}). In pgbouncer.ini set ignore_startup_parameters = \
                 extra_float_digits, options and max_prepared_statements = 200 (PgBouncer 1.21 or newer), or connect to \
                 PostgreSQL itself"
            ),
        };
    }
    error.into()
}

/// Makes a database unless it is there. Two callers at once make it once. Takes no lock that others wait for.
pub(crate) async fn create_database_once(connection: &mut PgConnection, name: &str) -> Result<(), sqlx::Error> {
    let is_there =
        sqlx::query_scalar!(r#"select exists (select from pg_database where datname = $1) as "is_there!""#, name)
            .fetch_one(&mut *connection)
            .await?;
    if is_there {
        return Ok(());
    }
    // A database's name cannot be a parameter. template0 has no local additions, which may have other locales.
    let statement = format!(r#"create database "{}" template template0"#, name.replace('"', "\"\""));
    match sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(connection).await {
        Err(sqlx::Error::Database(error)) if matches!(error.code().as_deref(), Some("42P04" | "23505")) => Ok(()),
        result => result.map(drop),
    }
}
