//! What a test looks at after the fact: the tables, the counters, and whether an answer may be shown to an operator.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;

use super::{app::TestApp, sender::Reply};

impl TestApp {
    /// How many rows each table of Oncehook and of the queue has.
    pub async fn rows(&self) -> BTreeMap<String, i64> {
        let mut conn = self.database().await;
        let tables: Vec<String> = sqlx::query_scalar(
            "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname in ('oncehook', 'apalis')",
        )
        .fetch_all(&mut conn)
        .await
        .unwrap();
        assert!(tables.len() > 6, "the tables are not where they were: {tables:?}");
        let mut rows = BTreeMap::new();
        for table in tables {
            let query = AssertSqlSafe(format!("select count(*) from {table}"));
            rows.insert(table, sqlx::query_scalar(query).fetch_one(&mut conn).await.unwrap());
        }
        rows
    }

    /// Lets the database hang up on everybody and take no connections, or take them again.
    pub async fn let_database_refuse(&self, refuses: bool) {
        let options = &self.test_database().options;
        let name = options.get_database().unwrap().to_owned();
        let mut conn = sqlx::ConnectOptions::connect(&options.clone().database("postgres")).await.unwrap();
        let allow = AssertSqlSafe(format!("alter database \"{name}\" allow_connections {}", !refuses));
        sqlx::raw_sql(allow).execute(&mut conn).await.unwrap();
        if refuses {
            let hang_up = "select pg_terminate_backend(pid, 30000) from pg_stat_activity where datname = $1";
            sqlx::query(hang_up).bind(name).execute(&mut conn).await.unwrap();
        }
    }

    /// The text at `/metrics`.
    pub async fn metrics(&self) -> String {
        self.sender().get(&format!("http://{}/metrics", self.app().admin_address())).await.text
    }

    /// One number of `/metrics`, named with its labels.
    pub async fn metric(&self, series: &str) -> u64 {
        let text = self.metrics().await;
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {series} in {text}")).parse().unwrap()
    }

    /// Requests to `source` that came to `turnout`.
    pub async fn counted(&self, source: &str, turnout: &str) -> u64 {
        self.metric(&format!("oncehook_arrivals_total{{source=\"{source}\",turnout=\"{turnout}\"}}")).await
    }

    /// The body that is stored for a receipt.
    pub async fn stored_body(&self, receipt: &str) -> Vec<u8> {
        self.of_receipt("select body from oncehook.payloads where receipt_id = $1", receipt).await
    }

    /// The header lines that are stored for a receipt.
    pub async fn stored_headers(&self, receipt: &str) -> Vec<u8> {
        self.of_receipt("select headers from oncehook.payloads where receipt_id = $1", receipt).await
    }

    /// The remarks on a receipt.
    pub async fn flags(&self, receipt: &str) -> Vec<String> {
        self.of_receipt("select flags from oncehook.receipts where id = $1", receipt).await
    }

    /// One value that `query` finds for a receipt.
    pub async fn of_receipt<T>(&self, query: &'static str, receipt: &str) -> T
    where
        T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres> + Send + Unpin,
    {
        let id: oncehook::domain::ReceiptId = receipt.parse().unwrap();
        sqlx::query_scalar(query).bind(id.uuid()).fetch_one(&mut self.database().await).await.unwrap()
    }
}

impl Reply {
    /// The receipt's id within the answer.
    pub fn receipt(&self) -> String {
        let receipt = self.text_of("receipt");
        assert!(receipt.starts_with("rcp_"), "no receipt in {}", self.text);
        receipt
    }

    /// The answer, after a look at what every answer must be (B145): short, JSON, no page, nothing about what runs here.
    pub fn presentable(self) -> Self {
        let content_type = self.headers.get("content-type").map_or("", |value| value.to_str().unwrap());
        let is_problem = self.json()["type"].is_string();
        let expected = if is_problem { "application/problem+json" } else { "application/json" };
        assert_eq!(content_type, expected, "{self:?}");
        assert!(self.json().is_object(), "{self:?}");
        assert!(self.text.len() <= 300, "{} bytes: {}", self.text.len(), self.text);
        if is_problem {
            assert!(!self.text_of("detail").is_empty() && !self.text_of("title").is_empty(), "{self:?}");
            assert_eq!(self.json()["status"], self.status, "{self:?}");
        }
        let all = format!("{:?} {}", self.headers, self.text).to_lowercase();
        for word in ["<html", "<body", "actix", "postgres", env!("CARGO_PKG_VERSION"), "panic", "src/"] {
            assert!(!all.contains(word), "{word:?} in {all}");
        }
        self
    }

    /// The last word of a problem's type.
    pub fn problem(&self) -> String {
        self.text_of("type").trim_start_matches("urn:oncehook:problem:").to_owned()
    }
}
