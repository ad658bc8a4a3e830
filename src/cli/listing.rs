//! Lists on the command line: how many, from where on, and how they are written.

use std::process::ExitCode;

use super::{
    Globals,
    output::{print, print_json},
    visible::Visible,
};
use crate::operate::{PAGE_LIMIT_MAX, Page};

/// Which part of a list.
#[derive(Debug, Clone, clap::Args)]
pub struct Listing {
    /// At most so many.
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Where to go on: the end of a list that has more tells it.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

impl Listing {
    /// As many items as are wanted, page after page.
    ///
    /// # Errors
    /// Those of a page.
    pub async fn collect<T>(
        &self,
        mut page: impl AsyncFnMut(Option<String>, u32) -> anyhow::Result<Page<T>>,
    ) -> anyhow::Result<Page<T>> {
        let mut list = Page { items: Vec::new(), next: self.cursor.clone() };
        let wanted = usize::try_from(self.limit).unwrap_or(usize::MAX);
        loop {
            let missing = u32::try_from(wanted - list.items.len()).unwrap_or(PAGE_LIMIT_MAX);
            let more = page(list.next.take(), missing.min(PAGE_LIMIT_MAX)).await?;
            let is_empty = more.items.is_empty();
            list.items.extend(more.items);
            list.next = more.next;
            // An empty page with a next one would be an endless list.
            if list.next.is_none() || is_empty || list.items.len() >= wanted {
                return Ok(list);
            }
        }
    }
}

/// Writes a list: JSON as an array of the API's items, or a table. That there is more stands below the table, and beside the JSON on
/// standard error.
///
/// # Errors
/// When standard output takes no more.
pub fn print_list<T: serde::Serialize>(
    list: &Page<T>,
    globals: &Globals,
    view: impl FnOnce(&[T]) -> String,
) -> anyhow::Result<ExitCode> {
    let more = list.next.as_deref().map(|cursor| format!("there are more: --cursor {}", Visible(cursor)));
    if globals.json {
        print_json(&list.items)?;
        if let Some(more) = more {
            eprintln!("note: {more}");
        }
    } else {
        let page = view(&list.items);
        print(&more.map_or_else(|| page.clone(), |more| format!("{page}\n\n{more}")))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn numbers(limit: u32, all: u32) -> (Vec<u32>, Option<String>, Vec<u32>) {
        let mut asked = Vec::new();
        let list = Listing { limit, cursor: None }
            .collect(async |cursor, limit| {
                asked.push(limit);
                let from = cursor.map_or(0, |cursor| cursor.parse::<u32>().unwrap());
                let to = all.min(from + limit);
                Ok(Page { items: (from..to).collect(), next: (to < all).then(|| to.to_string()) })
            })
            .await
            .unwrap();
        (list.items, list.next, asked)
    }

    #[tokio::test]
    async fn a_list_longer_than_a_page_is_put_together() {
        let (items, next, asked) = numbers(1_200, 5_000).await;
        assert_eq!((items.len(), items[1_199], next.as_deref()), (1_200, 1_199, Some("1200")));
        assert_eq!(asked, [500, 500, 200]);
        let (items, next, asked) = numbers(20, 7).await;
        assert_eq!((items.len(), next, asked.len()), (7, None, 1));
    }

    #[tokio::test]
    async fn a_list_whose_pages_are_empty_ends() {
        let endless = async |_, _| Ok(Page { items: Vec::<u32>::new(), next: Some("again".to_owned()) });
        let list = Listing { limit: 3, cursor: None }.collect(endless).await.unwrap();
        assert!(list.items.is_empty());
    }
}
