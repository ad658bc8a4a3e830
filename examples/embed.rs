//! A program with Oncehook inside: GitHub's pushes end in a ledger of its own, exactly once, since the entry and the
//! delivery's end are one commit.
//!
//! `cargo run --example embed` starts a PostgreSQL of its own in a temporary folder; with `DATABASE_URL` it uses that one.

use std::{net::SocketAddr, path::Path, time::Duration};

use anyhow::{Context as _, ensure};
use oncehook::{
    app::{App, Role},
    clock::Clock,
    config::{self, Environment, LoadOptions},
    domain::Secret,
    handler::{Delivery, HandlerError, Handlers},
    verify::Scheme,
};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};

const SECRET: &str = "a secret of at least 16 bytes";

const CONFIG: &str = r#"
[intake]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
[sources.github]
provider = "github"
secrets = [{ env = "GITHUB_WEBHOOK_SECRET" }]
[destinations.ledger]
kind = "handler"                  # the function of that name below
[[routes]]
name = "pushes"
source = "github"
events = ["push"]
destination = "ledger"
"#;

/// Runs in the transaction that marks the delivery as done: both are stored, or neither. `?` means "try again later".
async fn enter(conn: &mut PgConnection, delivery: &Delivery) -> Result<(), HandlerError> {
    let payload = delivery.json()?;
    let branch = payload["ref"].as_str().ok_or_else(|| HandlerError::reject("a push without a ref"))?;
    sqlx::query("insert into ledger.pushes (delivery, branch) values ($1, $2)")
        .bind(delivery.idempotency_key())
        .bind(branch)
        .execute(conn)
        .await?;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "this is not Oncehook's own code")]
    let database_url = std::env::var("DATABASE_URL").ok();
    println!("{}", run(database_url).await?);
    Ok(())
}

/// Starts, posts one push to itself, and gives what then stands in the ledger.
pub async fn run(database_url: Option<String>) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let options = options(folder.path(), database_url)?;
    let config = config::load(&options)?.config;
    let handlers = Handlers::new().on("ledger", enter);
    let app = App::start_with(config, Clock::system(), Role { receives: true, works: true }, handlers).await?;

    let mut conn = app.database().connect_options().connect().await?;
    sqlx::raw_sql("create schema ledger; create table ledger.pushes (delivery text unique, branch text not null)")
        .execute(&mut conn)
        .await?;
    push(app.intake_address().context("it receives")?).await?;
    let entry = until_entered(&mut conn).await;
    conn.close().await?;
    app.stop().await?;
    entry
}

fn options(folder: &Path, database_url: Option<String>) -> anyhow::Result<LoadOptions> {
    let file = folder.join("oncehook.toml");
    std::fs::write(&file, format!("data_dir = {:?}\n{CONFIG}", folder.join("data")))?;
    let mut variables = vec![("GITHUB_WEBHOOK_SECRET", SECRET.to_owned())];
    variables.extend(database_url.map(|url| ("DATABASE_URL", url)));
    let environment: Environment = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Ok(LoadOptions { file: Some(file), environment, may_generate: false })
}

/// What GitHub does when somebody pushes.
async fn push(intake: SocketAddr) -> anyhow::Result<()> {
    let body = r#"{"ref": "refs/heads/main", "repository": {"id": 1}}"#;
    let secret = Secret::new(SECRET.as_bytes().to_vec());
    #[expect(clippy::disallowed_methods, reason = "this is the provider's client")]
    let mut request = reqwest::Client::new().post(format!("http://{intake}/hooks/github")).body(body);
    request = request.header("x-github-event", "push").header("content-type", "application/json");
    request = request.header("x-github-delivery", "5c1fa8c0-0000-4000-8000-000000000001");
    for (name, value) in Scheme::GitHub.sign(&secret, "", Clock::system().now(), body.as_bytes()) {
        request = request.header(name, value);
    }
    let answer = request.send().await?;
    ensure!(answer.status().is_success(), "it was refused: {}", answer.text().await?);
    Ok(())
}

async fn until_entered(conn: &mut PgConnection) -> anyhow::Result<String> {
    let mut look = tokio::time::interval(Duration::from_millis(50));
    for _ in 0..600 {
        look.tick().await;
        let entry = sqlx::query_scalar("select delivery || ' pushed to ' || branch from ledger.pushes");
        if let Some(entry) = entry.fetch_optional(&mut *conn).await? {
            return Ok(entry);
        }
    }
    anyhow::bail!("nothing came in within 30 seconds")
}
