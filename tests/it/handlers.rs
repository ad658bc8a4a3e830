//! Destinations of kind "handler": Rust of the embedding program, in the transaction that settles the delivery.

use chrono::TimeDelta;
use futures_util::future::BoxFuture;
use oncehook::{
    app::{App, Role},
    clock::Clock,
    config::{self, Environment, LoadOptions},
    handler::{Delivery, Handler, HandlerError, Handlers},
};
use sqlx::{Connection as _, PgConnection};

use crate::support::{
    app::{GITHUB_SECRET, STANDARD_SECRET, TestApp},
    ledger::{Billing, CONFIG},
};

fn config() -> String {
    let sql = "kind = \"sql\"\nfunction = \"billing.on_event\"\nrole = \"oncehook_test_writer\"";
    CONFIG.replace(sql, "kind = \"handler\"")
}

async fn billing_with(handler: impl Handler) -> Billing {
    let app = TestApp::start_with_handlers(&config(), Handlers::new().on("billing", handler)).await;
    Billing::on(app, "").await
}

async fn note(conn: &mut PgConnection, delivery: &Delivery) -> Result<(), HandlerError> {
    sqlx::query("insert into billing.entries (delivery, note) values ($1, $2)")
        .bind(delivery.idempotency_key())
        .bind(delivery.attempt().to_string())
        .execute(conn)
        .await?;
    Ok(())
}

#[tokio::test]
async fn an_async_function_is_a_handler_and_is_told_what_there_is_to_know() {
    async fn tell(conn: &mut PgConnection, delivery: &Delivery) -> Result<(), HandlerError> {
        note(conn, delivery).await?;
        let told = serde_json::json!({
            "receipt": delivery.receipt(), "key": delivery.idempotency_key(), "attempt": delivery.attempt(),
            "source": delivery.source(), "delivery_id": delivery.delivery_id(), "event_type": delivery.event_type(),
            "ordering_key": delivery.ordering_key(), "event_time": delivery.event_time(), "is_stale": delivery.is_stale(),
            "id_header": delivery.headers().only_text("webhook-id"), "body": String::from_utf8_lossy(delivery.body()),
            "got": delivery.json()?,
        });
        sqlx::query("update billing.entries set payload = $1").bind(told).execute(conn).await?;
        Ok(())
    }
    let mut billing = billing_with(tell).await;
    let body = r#"{"type":"invoice.paid","data":{"id":7}}"#;
    let reply = billing.deliver(body).await;
    assert_eq!(billing.end().await.0, "succeeded/succeeded");
    let told: serde_json::Value =
        sqlx::query_scalar("select payload from billing.entries").fetch_one(&mut billing.conn).await.unwrap();
    assert_eq!(told["receipt"], reply.text_of("receipt"));
    assert_eq!((told["event_type"].as_str(), told["source"].as_str()), (Some("invoice.paid"), Some("standard")));
    assert_eq!((told["attempt"].as_i64(), told["is_stale"].as_bool()), (Some(1), Some(false)));
    assert_eq!(told["id_header"], told["delivery_id"]);
    assert_eq!((told["body"].as_str(), told["got"]["data"]["id"].as_i64()), (Some(body), Some(7)));
    assert_eq!(told["key"], billing.text("select delivery from billing.entries").await);
}

#[tokio::test]
async fn what_a_handler_did_before_its_error_is_undone() {
    struct Failing(fn() -> HandlerError);
    impl Handler for Failing {
        fn handle<'a>(
            &'a self,
            conn: &'a mut PgConnection,
            delivery: &'a Delivery,
        ) -> BoxFuture<'a, Result<(), HandlerError>> {
            Box::pin(async {
                note(conn, delivery).await?;
                Err(self.0())
            })
        }
    }
    type Case = (fn() -> HandlerError, &'static str, &'static str);
    let ends: [Case; 3] = [
        (|| HandlerError::retry("the bank is closed"), "retrying/failed", "the bank is closed"),
        (|| HandlerError::reject("no such account"), "dead/rejected", "no such account"),
        (|| std::io::Error::other("disk").into(), "retrying/failed", "disk"),
    ];
    for (error, end, reason) in ends {
        let mut billing = billing_with(Failing(error)).await;
        billing.deliver("{}").await;
        let ended = billing.end().await;
        assert_eq!((ended.0.as_str(), billing.entries().await), (end, 0));
        assert!(ended.1.contains(reason), "{ended:?}");
        billing.app.may_leave_work();
    }
}

#[tokio::test]
async fn a_handler_that_panics_or_takes_too_long_is_undone_and_tried_again() {
    async fn panic_first(conn: &mut PgConnection, delivery: &Delivery) -> Result<(), HandlerError> {
        note(conn, delivery).await?;
        assert!(delivery.attempt() > 1, "the first one panics");
        Ok(())
    }
    async fn hang_first(conn: &mut PgConnection, delivery: &Delivery) -> Result<(), HandlerError> {
        note(conn, delivery).await?;
        if delivery.attempt() == 1 {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
    async fn hang_in_sql_first(conn: &mut PgConnection, delivery: &Delivery) -> Result<(), HandlerError> {
        note(conn, delivery).await?;
        if delivery.attempt() == 1 {
            sqlx::query("select pg_sleep(3600)").execute(conn).await?;
        }
        Ok(())
    }
    let short = config().replace("20s", "100ms");
    let handlers = [
        (Handlers::new().on("billing", panic_first), "the first one panics"),
        (Handlers::new().on("billing", hang_first), "did not end within 100ms"),
        (Handlers::new().on("billing", hang_in_sql_first), "did not end within 100ms"),
    ];
    for (handlers, words) in handlers {
        let app = TestApp::start_with_handlers(&short, handlers).await;
        let mut billing = Billing::on(app, "").await;
        billing.deliver("{}").await;
        let (end, reason) = billing.end().await;
        assert_eq!((end.as_str(), billing.entries().await), ("retrying/failed", 0));
        assert!(reason.contains(words), "{reason}");
        billing.app.advance(TimeDelta::hours(1)).await;
        billing.app.run_until_idle().await;
        let end = billing.end().await;
        assert_eq!((end.0.as_str(), billing.entries().await), ("succeeded/succeeded", 1), "{end:?}");
    }
}

#[tokio::test]
async fn a_handlers_own_transaction_is_a_savepoint() {
    async fn nested(conn: &mut PgConnection, delivery: &Delivery) -> Result<(), HandlerError> {
        let mut undone = conn.begin().await?;
        note(&mut undone, delivery).await?;
        undone.rollback().await?;
        let mut kept = conn.begin().await?;
        note(&mut kept, delivery).await?;
        kept.commit().await?;
        let mut dropped = conn.begin().await?;
        note(&mut dropped, delivery).await?;
        Ok(())
    }
    let mut billing = billing_with(nested).await;
    billing.deliver("{}").await;
    assert_eq!((billing.end().await.0.as_str(), billing.entries().await), ("succeeded/succeeded", 1));
}

#[tokio::test]
async fn a_handler_that_ends_the_transaction_is_a_dead_letter_that_says_so() {
    async fn commit(conn: &mut PgConnection, delivery: &Delivery) -> Result<(), HandlerError> {
        note(conn, delivery).await?;
        sqlx::raw_sql("commit").execute(conn).await?;
        Ok(())
    }
    async fn commit_and_begin(conn: &mut PgConnection, delivery: &Delivery) -> Result<(), HandlerError> {
        note(conn, delivery).await?;
        sqlx::raw_sql("commit; begin").execute(conn).await?;
        Err(HandlerError::retry("and again"))
    }
    for handlers in [Handlers::new().on("billing", commit), Handlers::new().on("billing", commit_and_begin)] {
        let app = TestApp::start_with_handlers(&config(), handlers).await;
        let mut billing = Billing::on(app, "").await;
        billing.deliver("{}").await;
        let (end, reason) = billing.end().await;
        assert_eq!(end, "dead/rejected");
        assert!(reason.contains("must not commit or roll back"), "{reason}");
    }
}

#[tokio::test]
async fn an_appliance_that_lacks_a_handler_does_not_start_to_work() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("oncehook.toml");
    std::fs::write(&file, format!("data_dir = {:?}\n{}", folder.path().join("data"), config())).unwrap();
    let environment: Environment = [
        ("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none"),
        ("GITHUB_SECRET", GITHUB_SECRET),
        ("STANDARD_SECRET", STANDARD_SECRET),
    ]
    .into_iter()
    .collect();
    let options = LoadOptions { file: Some(file), environment, may_generate: true };
    let report = config::check(&options);
    assert!(report.is_good() && report.warnings.iter().any(|warning| warning.contains("needs a Rust handler")));
    let loaded = config::load(&options).unwrap();
    let role = Role { receives: true, works: true };
    let handlers = Handlers::new().on("books", note);
    let Err(error) = App::start_with(loaded.config, Clock::system(), role, handlers).await else {
        panic!("it started");
    };
    assert!(error.to_string().contains("no Rust handler is registered for [destinations.billing]"), "{error}");
}
