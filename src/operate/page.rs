//! Lists in pages. A cursor is what the next page begins behind; to whoever holds it, it is opaque.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use super::{OperateError, Result};

/// Items on a page, if nothing else is asked for.
pub const PAGE_LIMIT: u32 = 50;

/// The most items on a page: one answer stays small.
pub const PAGE_LIMIT_MAX: u32 = 500;

/// Which page.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
pub struct PageRequest {
    /// Where the page begins: `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// At most so many items: 1 to 500.
    pub limit: u32,
}

impl Default for PageRequest {
    fn default() -> Self {
        Self { cursor: None, limit: PAGE_LIMIT }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// The cursor of the next page; `None`: this was the last.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// A page of what was asked for with one item more than `limit`, which tells whether there is a next page.
    pub(super) fn of<K: serde::Serialize>(
        mut items: Vec<T>,
        limit: u32,
        list: &'static str,
        key: impl FnOnce(&T) -> K,
    ) -> Self {
        let is_last = items.len() <= limit as usize;
        items.truncate(limit as usize);
        let next = items.last().filter(|_| !is_last).map(|last| cursor_of(list, &key(last)));
        Self { items, next }
    }
}

/// How many items were asked for.
pub(super) fn limit_of(limit: Option<u32>) -> Result<u32> {
    match limit.unwrap_or(PAGE_LIMIT) {
        limit @ 1..=PAGE_LIMIT_MAX => Ok(limit),
        other => Err(OperateError::Invalid {
            field: "limit",
            problem: format!("{other} is no number of items"),
            instead: format!("ask for 1 to {PAGE_LIMIT_MAX}"),
        }),
    }
}

/// The cursor of what follows `key` in a list. `list` names the list, with a number that counts up when its keys change.
pub(super) fn cursor_of<K: serde::Serialize>(list: &'static str, key: &K) -> String {
    let text = serde_json::to_vec(&(list, key)).expect("keys are ids, times and texts, which JSON takes");
    BASE64_URL_SAFE_NO_PAD.encode(text)
}

/// The key that a cursor of this list stands for; `None` without a cursor.
pub(super) fn key_of<K: serde::de::DeserializeOwned>(list: &'static str, cursor: Option<&str>) -> Result<Option<K>> {
    let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else { return Ok(None) };
    let read = || {
        let text = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (its_list, key): (String, K) = serde_json::from_slice(&text).ok()?;
        (its_list == list).then_some(key)
    };
    read().map(Some).ok_or_else(|| OperateError::Invalid {
        field: "cursor",
        problem: "it is none that this list has given".to_owned(),
        instead: "take `next` of the page before, or leave it out for the first page".to_owned(),
    })
}

/// The longest text that is searched for: ids, types and keys are shorter.
const TEXT_BYTES_MAX: usize = 1_024;

/// A filter's text, if there is one: a form sends empty texts for what was left blank.
pub(super) fn text_of(field: &'static str, text: Option<&String>) -> Result<Option<String>> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let problem = if text.contains('\0') {
        "it holds a NUL, which no text in the database can".to_owned()
    } else if text.len() > TEXT_BYTES_MAX {
        format!("it is {} bytes long", text.len())
    } else {
        return Ok(Some(text.clone()));
    };
    Err(OperateError::Invalid { field, problem, instead: format!("ask for a text of at most {TEXT_BYTES_MAX} bytes") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_in_its_own_list_only() {
        let cursor = cursor_of("receipts 1", &("rcp_1", false));
        assert_eq!(key_of("receipts 1", Some(&cursor)).unwrap(), Some(("rcp_1".to_owned(), false)));
        assert!(key_of::<(String, bool)>("lanes 1", Some(&cursor)).is_err());
        for broken in ["x", "é", "AAAA", &cursor[1..], &cursor[..cursor.len() - 2]] {
            let refusal = key_of::<(String, bool)>("receipts 1", Some(broken)).unwrap_err().to_string();
            assert!(refusal.contains("take `next` of the page before"), "{refusal}");
        }
        assert_eq!(key_of::<String>("receipts 1", None).unwrap(), None);
    }

    #[test]
    fn a_blank_field_is_no_filter_and_a_nul_is_refused() {
        assert_eq!(text_of("q", Some(&String::new())).unwrap(), None);
        assert!(text_of("q", Some(&"a\0".to_owned())).is_err() && text_of("q", Some(&"a".repeat(2_000))).is_err());
        assert!(limit_of(Some(0)).is_err() && limit_of(Some(501)).is_err() && limit_of(None).is_ok());
    }
}
