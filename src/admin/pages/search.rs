//! `/search`: from any id that an operator has in hand straight to the receipt.

use actix_web::{HttpResponse, web};
use askama::Template;

use super::{
    answer,
    pieces::line,
    receipts::Row,
    shell::{Here, Shell},
    visit::Visit,
};
use crate::operate::{Desk, Found, ReceiptQuery, Result};

#[derive(Template)]
#[template(path = "search.html")]
struct Search {
    shell: Shell,
    /// Whether the rows carry exactly what was looked for, or only have it in one of their ids.
    is_exact: bool,
    rows: Vec<Row>,
}

/// Goes there, or shows what there is.
pub(super) async fn search(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let text = visit.fields.value("q");
    if text.is_empty() {
        return answer::see("/receipts");
    }
    match desk.look_up(text, None).await {
        Ok(Found::Receipt(receipt)) => {
            let part =
                text.parse::<crate::domain::DeliveryRef>().map(|delivery| format!("#{delivery}")).unwrap_or_default();
            answer::see(&format!("/receipts/{receipt}{part}"))
        }
        Ok(Found::Several(receipts)) => {
            let rows = receipts.into_iter().map(Row::of).collect();
            visit.answer(Ok(Search { shell: shell(&visit, text), is_exact: true, rows }))
        }
        Ok(Found::Nothing) => visit.answer(similar(&desk, &visit, text).await),
        Err(error) => answer::failure(visit.shell("", Here::Nowhere), &error),
    }
}

/// Receipts that have it in one of their ids.
async fn similar(desk: &Desk, visit: &Visit, text: &str) -> Result<Search> {
    let query = ReceiptQuery { q: Some(text.to_owned()), limit: Some(20), ..ReceiptQuery::default() };
    // A text that is no part of any id is no mistake here: there is nothing, as the page says.
    let rows = match desk.receipts(&query).await {
        Ok(page) => page.items.into_iter().map(Row::of).collect(),
        Err(crate::operate::OperateError::Invalid { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(Search { shell: shell(visit, text), is_exact: false, rows })
}

fn shell(visit: &Visit, text: &str) -> Shell {
    let sought = line(text);
    Shell { sought: sought.clone(), ..visit.shell(format!("Search: {sought}"), Here::Receipts) }
}
