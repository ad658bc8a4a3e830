//! A database of somebody's own business beside Oncehook: a schema `billing` with a ledger, a role that may write it, and a
//! function that an SQL destination calls.

use sqlx::PgConnection;

use super::{app::TestApp, sender::Reply};

/// Roles belong to the server, which the tests share; each database grants it what it may do there.
pub const ROLE: &str = "oncehook_test_writer";

/// Two sources, of which one has lanes, and the function `billing.on_event`. Two attempts.
pub const CONFIG: &str = r#"
[intake]
listen = "127.0.0.1:0"
threads = 1
[admin]
listen = "127.0.0.1:0"
[sources.standard]
provider = "standard_webhooks"
secrets = [{ env = "STANDARD_SECRET" }]
[sources.github]
provider = "github"
secrets = [{ env = "GITHUB_SECRET" }]
[destinations.billing]
kind = "sql"
function = "billing.on_event"
role = "oncehook_test_writer"
timeout = "20s"
[[routes]]
name = "bill"
source = "standard"
events = ["*"]
order = "none"
destination = "billing"
retry = { attempts = 2, initial = "1s", max = "1s" }
[[routes]]
name = "push"
source = "github"
events = ["*"]
destination = "billing"
retry = { attempts = 2, initial = "1s", max = "1s" }
"#;

/// What the function does in most tests.
pub const INSERT: &str = "insert into entries (delivery, payload) values (receipt ->> 'delivery', payload);";

/// Makes schema, table and role, with nothing in them.
pub async fn found(conn: &mut PgConnection) {
    let statements = format!(
        "do $$ begin create role {ROLE} nologin; exception when duplicate_object or unique_violation then null; end $$;
         create schema billing;
         create table billing.entries (id bigint generated always as identity, delivery text, payload jsonb, note text);
         grant usage on schema billing to {ROLE};
         grant select, insert on billing.entries to {ROLE};"
    );
    run(conn, &statements).await;
}

/// Makes `billing.on_event(jsonb, jsonb)` do this.
pub async fn teach(conn: &mut PgConnection, body: &str) {
    teach_form(conn, "jsonb", body).await;
}

/// Makes the variant that takes `form` do this.
pub async fn teach_form(conn: &mut PgConnection, form: &str, body: &str) {
    let statement = format!(
        "create or replace function billing.on_event(receipt jsonb, payload {form}) returns void language plpgsql
         as $function$ begin {body} end $function$"
    );
    run(conn, &statement).await;
}

pub async fn run(conn: &mut PgConnection, statements: &str) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements.to_owned())).execute(conn).await.unwrap();
}

/// What stands in the ledger.
pub async fn entries(conn: &mut PgConnection) -> i64 {
    sqlx::query_scalar("select count(*) from billing.entries").fetch_one(conn).await.unwrap()
}

/// An appliance whose one destination is the ledger.
pub struct Billing {
    pub app: TestApp,
    pub conn: PgConnection,
}

impl Billing {
    /// Whose function does this.
    pub async fn with(body: &str) -> Self {
        Self::from(CONFIG, body).await
    }

    /// The same with another configuration.
    pub async fn from(config: &str, body: &str) -> Self {
        Self::on(TestApp::start_from(config).await, body).await
    }

    /// The same with an appliance that runs already.
    pub async fn on(app: TestApp, body: &str) -> Self {
        let mut conn = app.database().await;
        found(&mut conn).await;
        teach(&mut conn, body).await;
        Self { app, conn }
    }

    /// Takes one event in, whose body this is.
    pub async fn record(&self, body: impl Into<Vec<u8>>) -> Reply {
        let reply = self.app.sender().standard(body).send().await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply
    }

    /// Takes one event in and runs it.
    pub async fn deliver(&self, body: impl Into<Vec<u8>>) -> Reply {
        let reply = self.record(body).await;
        self.app.run_until_idle().await;
        reply
    }

    pub async fn teach(&mut self, body: &str) {
        teach(&mut self.conn, body).await;
    }

    pub async fn run(&mut self, statements: &str) {
        run(&mut self.conn, statements).await;
    }

    pub async fn entries(&mut self) -> i64 {
        entries(&mut self.conn).await
    }

    /// One text from the database.
    pub async fn text(&mut self, sql: &'static str) -> String {
        sqlx::query_scalar(sql).fetch_one(&mut self.conn).await.unwrap()
    }

    /// State and last outcome of the newest delivery, as `dead/rejected`, and why.
    pub async fn end(&mut self) -> (String, String) {
        sqlx::query_as(
            "select d.state || '/' || a.outcome, a.reason
             from oncehook.deliveries d join oncehook.attempts a on a.delivery = d.id and a.number = d.attempts
             order by d.seq desc limit 1",
        )
        .fetch_one(&mut self.conn)
        .await
        .unwrap()
    }
}
