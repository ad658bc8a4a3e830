//! The fields of a form or of a query string, in order, as text. Turns them into the queries of the desk: an empty field of a
//! form is one that does not matter, and a time without a zone is UTC, as the page says beside it.

use actix_web::web;
use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use serde::de::DeserializeOwned;

use crate::operate::OperateError;

/// Fields that hold times.
const TIMES: [&str; 2] = ["since", "until"];

/// Names with values. All of it is hostile text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Of a query string, or of the body of a form.
    pub(super) fn parse(encoded: &[u8]) -> Self {
        Self(
            url::form_urlencoded::parse(encoded).map(|(name, value)| (name.into_owned(), value.into_owned())).collect(),
        )
    }

    /// The first value of that name, trimmed; empty where there is none.
    pub(super) fn value(&self, name: &str) -> &str {
        self.0.iter().find(|(held, _)| held == name).map_or("", |(_, value)| value.trim())
    }

    /// The same, where it is not empty.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        Some(self.value(name)).filter(|value| !value.is_empty())
    }

    /// A time as `<input type="datetime-local">` wants it; empty where there is none.
    pub(super) fn local(&self, name: &str) -> String {
        let at = DateTime::parse_from_rfc3339(&in_utc(self.value(name)));
        at.map(|at| at.to_utc().format("%Y-%m-%dT%H:%M:%S").to_string()).unwrap_or_default()
    }

    /// Whether the field has this value.
    pub(super) fn is(&self, name: &str, value: &str) -> bool {
        self.value(name) == value
    }

    /// All values of that name.
    pub(super) fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(held, _)| held == name).map(|(_, value)| value.trim().to_owned()).collect()
    }

    /// The fields of these names alone, without the empty ones.
    pub(super) fn only(&self, names: &[&str]) -> Self {
        let keep = |(name, value): &&(String, String)| names.contains(&name.as_str()) && !value.trim().is_empty();
        Self(self.0.iter().filter(keep).cloned().collect())
    }

    /// With this value in the place of all of that name.
    pub(super) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.0.retain(|(held, _)| held != name);
        self.0.push((name.to_owned(), value.into()));
        self
    }

    /// In order, for hidden fields.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `path` with these as its query string.
    pub(super) fn link(&self, path: &str) -> String {
        if self.is_empty() { path.to_owned() } else { format!("{path}?{}", encode(self.iter())) }
    }

    /// As a query of the desk.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] when a value is none of its kind.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, OperateError> {
        let given = self.0.iter().filter(|(_, value)| !value.trim().is_empty()).map(|(name, value)| {
            let value = value.trim();
            (name.as_str(), if TIMES.contains(&name.as_str()) { in_utc(value) } else { value.to_owned() })
        });
        let pairs: Vec<(&str, String)> = given.collect();
        let query = encode(pairs.iter().map(|(name, value)| (*name, value.as_str())));
        web::Query::<T>::from_query(&query).map(web::Query::into_inner).map_err(|error| OperateError::Invalid {
            field: "the filter",
            problem: error.to_string(),
            instead: "change it in the form above the list, or leave it away".to_owned(),
        })
    }
}

fn encode<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// What `<input type="datetime-local">` sends, made whole; any other text stays, and is refused where it is read.
fn in_utc(text: &str) -> String {
    let at = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S%.f"]
        .iter()
        .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())
        .or_else(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0));
    at.map_or_else(|| text.to_owned(), |at| iso(at.and_utc()))
}

/// `2026-01-05T10:00:00.250Z`.
pub(super) fn iso(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operate::ReceiptQuery;

    #[test]
    fn empty_fields_do_not_matter_and_times_without_a_zone_are_utc() {
        let fields = Fields::parse(b"source=&state=dead&q=+a%26b+&since=2026-01-05T10%3A00&until=2026-01-06&unknown=1");
        let query: ReceiptQuery = fields.read().unwrap();
        assert_eq!(query.source, None);
        assert_eq!(query.state, Some(crate::domain::DeliveryState::Dead));
        assert_eq!(query.q.as_deref(), Some("a&b"));
        assert_eq!(iso(query.since.unwrap()), "2026-01-05T10:00:00Z");
        assert_eq!(iso(query.until.unwrap()), "2026-01-06T00:00:00Z");
    }

    #[test]
    fn a_value_that_is_none_of_its_kind_is_refused() {
        for query in ["state=done", "since=yesterday", "limit=many", "held=perhaps"] {
            let refusal = Fields::parse(query.as_bytes()).read::<ReceiptQuery>();
            assert!(matches!(refusal, Err(OperateError::Invalid { .. })), "{query}");
        }
    }

    #[test]
    fn a_link_keeps_what_was_asked_for_and_encodes_it() {
        let fields = Fields::parse(b"source=github&q=%22%3E%3Cscript%3E&cursor=x&state=");
        let link = fields.only(&["source", "q", "state"]).with("cursor", "a b").link("/receipts");
        assert_eq!(link, "/receipts?source=github&q=%22%3E%3Cscript%3E&cursor=a+b");
        assert_eq!(Fields::default().link("/receipts"), "/receipts");
    }
}
