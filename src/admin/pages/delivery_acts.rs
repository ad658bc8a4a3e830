//! What an operator does to one delivery: retry, cancel, discard. First the question, then the deed.

use actix_web::{HttpResponse, web};

use super::{
    confirm::Confirm,
    pieces::line,
    shell::Here,
    visit::{Order, Visit},
};
use crate::{
    domain::DeliveryRef,
    operate::{Changed, Desk, FoundDelivery, Result},
};

/// What can be done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Retry,
    Cancel,
    Discard,
}

impl Act {
    fn of(word: &str) -> Option<Self> {
        [Self::Retry, Self::Cancel, Self::Discard].into_iter().find(|act| act.word() == word)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Discard => "discard",
        }
    }

    /// The code of what the next page says.
    fn done(self) -> &'static str {
        match self {
            Self::Retry => "retried",
            Self::Cancel => "cancelled",
            Self::Discard => "discarded",
        }
    }

    fn button(self) -> &'static str {
        match self {
            Self::Retry => "Retry 1 delivery",
            Self::Cancel => "Cancel 1 delivery",
            Self::Discard => "Discard 1 dead letter",
        }
    }

    fn means(self) -> &'static str {
        match self {
            Self::Retry => {
                "It is run once more with the same idempotency key, and with all its attempts before it: at the head of its lane \
                 if it blocks that, at the end otherwise."
            }
            Self::Cancel => {
                "It is not run, and its lane goes on with the next delivery. Replaying its receipt brings it back."
            }
            Self::Discard => {
                "It is taken off the dead letters and becomes cancelled, with your reason. If its lane waits for it, the lane \
                 goes on. Replaying its receipt brings it back."
            }
        }
    }
}

/// Asks.
pub(super) async fn ask(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    visit.answer(question(&desk, &visit).await)
}

async fn question(desk: &Desk, visit: &Visit) -> Result<Confirm> {
    let id: DeliveryRef = visit.id("delivery")?;
    let act = act_of(visit.part("act"))?;
    let FoundDelivery { receipt, delivery } = desk.delivery(id).await?;
    let shell = visit.shell(format!("{}?", act.button()), Here::Deliveries);
    let what = format!("{} → {}, now {}.", delivery.route, delivery.destination, delivery.state);
    let mut confirm = Confirm::new(shell, what, format!("/deliveries/{id}/{}", act.word()), act.button());
    confirm.sentences.extend(delivery.last_error.as_deref().map(|error| format!("Its last error: {}", line(error))));
    confirm.sentences.push(act.means().to_owned());
    confirm.items = vec![id.to_string()];
    let confirm = confirm.back(format!("/receipts/{receipt}#{id}"));
    Ok(if act == Act::Discard { confirm.dangerous() } else { confirm })
}

/// Does it.
pub(super) async fn act(desk: web::Data<Desk>, order: Order) -> HttpResponse {
    let done = async {
        let id: DeliveryRef = order.id("delivery")?;
        let act = act_of(order.part("act"))?;
        let instruction = order.instruction();
        let _: Changed = match act {
            Act::Retry => desk.retry(id, instruction).await?,
            Act::Cancel => desk.cancel(id, instruction).await?,
            Act::Discard => desk.discard(id, instruction).await?,
        };
        let receipt = desk.delivery(id).await?.receipt;
        Ok(format!("/receipts/{receipt}?done={}#{id}", act.done()))
    };
    order.answer(done.await)
}

fn act_of(word: &str) -> Result<Act> {
    Act::of(word)
        .ok_or_else(|| crate::operate::OperateError::NotFound { what: "page", name: word.chars().take(80).collect() })
}
