//! Lists in pages. A cursor is what the next page begins behind; to whoever holds it, it is opaque.

/// Items on a page, if nothing else is asked for.
pub const PAGE_LIMIT: u32 = 50;

/// The most items on a page: one answer stays small.
pub const PAGE_LIMIT_MAX: u32 = 500;

/// Which page.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
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
