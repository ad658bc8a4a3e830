//! What became of a command, as JSON: takes its deliveries, gives the members of answers. Never more of a destination's
//! answer than there is room for, and never bytes that are no text.

use serde::Serialize;
use serde_json::value::RawValue;

use super::answer::Accepted;
use crate::{
    domain::{CommandState, DeliveryState, ReceiptId},
    store::command_status::{CommandDelivery, KeptAnswer},
};

/// Bytes of all bodies in one answer: a source may have many routes.
const BODIES_BYTES_MAX: usize = 64 * 1024;

/// The answer to a look.
#[derive(Serialize)]
pub(super) struct StatusAnswer<'d> {
    status: CommandState,
    receipt: ReceiptId,
    deliveries: Vec<DeliveryResult<'d>>,
}

/// The first answer again, with what came of it.
#[derive(Serialize)]
pub(super) struct Replayed<'s, 'd> {
    #[serde(flatten)]
    first: Accepted<'s>,
    result: CommandResult<'d>,
}

#[derive(Serialize)]
struct CommandResult<'d> {
    state: CommandState,
    deliveries: Vec<DeliveryResult<'d>>,
}

#[derive(Serialize)]
struct DeliveryResult<'d> {
    route: &'d str,
    /// Only where it is no plain delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<&'d str>,
    state: DeliveryState,
    attempts: i32,
    answer: Option<AnswerShown<'d>>,
}

#[derive(Serialize)]
struct AnswerShown<'d> {
    status: i32,
    body: Option<BodyShown<'d>>,
    /// Why there is no body.
    #[serde(skip_serializing_if = "Option::is_none")]
    body_omitted: Option<&'static str>,
}

/// JSON stands in the answer as it is, number for number; any other text as a string.
#[derive(Serialize)]
#[serde(untagged)]
enum BodyShown<'d> {
    Json(&'d RawValue),
    Text(&'d str),
}

impl<'d> StatusAnswer<'d> {
    pub(super) fn of(receipt: ReceiptId, deliveries: &'d [CommandDelivery]) -> Self {
        let CommandResult { state, deliveries } = CommandResult::of(deliveries);
        Self { status: state, receipt, deliveries }
    }
}

impl<'s, 'd> Replayed<'s, 'd> {
    pub(super) fn of(first: Accepted<'s>, deliveries: &'d [CommandDelivery]) -> Self {
        Self { first, result: CommandResult::of(deliveries) }
    }
}

/// How many deliveries the first answer counted: compensations came later.
pub(super) fn planned(deliveries: &[CommandDelivery]) -> usize {
    deliveries.iter().filter(|delivery| delivery.is_plain()).count()
}

impl CommandDelivery {
    fn is_plain(&self) -> bool {
        self.purpose == "deliver"
    }
}

impl<'d> CommandResult<'d> {
    fn of(deliveries: &'d [CommandDelivery]) -> Self {
        let mut room = BODIES_BYTES_MAX;
        let shown = |delivery: &'d CommandDelivery| DeliveryResult {
            route: &delivery.route,
            purpose: (!delivery.is_plain()).then_some(&delivery.purpose),
            state: delivery.state,
            attempts: delivery.attempts,
            answer: delivery.answer.as_ref().map(|answer| AnswerShown::of(answer, &mut room)),
        };
        let state = CommandState::of(deliveries.iter().map(|delivery| delivery.state));
        Self { state, deliveries: deliveries.iter().map(shown).collect() }
    }
}

impl<'d> AnswerShown<'d> {
    fn of(answer: &'d KeptAnswer, room: &mut usize) -> Self {
        let without = |why| Self { status: answer.status, body: None, body_omitted: Some(why) };
        let Some(body) = answer.body.as_deref() else { return without("larger than 16 KiB") };
        if body.is_empty() {
            return Self { status: answer.status, body: None, body_omitted: None };
        }
        let Ok(text) = std::str::from_utf8(body) else { return without("not text") };
        let Some(left) = room.checked_sub(text.len()) else { return without("more than 64 KiB in all") };
        *room = left;
        Self { status: answer.status, body: Some(BodyShown::of(text)), body_omitted: None }
    }
}

impl<'d> BodyShown<'d> {
    /// What `serde_json::Value` would not take (too deep, too large a number) might not be taken by the caller either, and then
    /// the whole answer would not: it is shown as text.
    fn of(text: &'d str) -> Self {
        let is_sound = serde_json::from_str::<serde_json::Value>(text).is_ok();
        let json = if is_sound { serde_json::from_str::<&RawValue>(text).ok() } else { None };
        json.map_or(Self::Text(text), Self::Json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(body: Option<&[u8]>) -> CommandDelivery {
        CommandDelivery {
            route: "place".to_owned(),
            purpose: "deliver".to_owned(),
            state: DeliveryState::Succeeded,
            attempts: 1,
            answer: Some(KeptAnswer { status: 200, body: body.map(<[u8]>::to_vec) }),
        }
    }

    fn answers(deliveries: &[CommandDelivery]) -> String {
        let shown = serde_json::to_value(CommandResult::of(deliveries)).unwrap();
        let answers: Vec<_> =
            shown["deliveries"].as_array().unwrap().iter().map(|one| one["answer"].to_string()).collect();
        answers.join(" ")
    }

    #[test]
    fn a_body_is_handed_on_as_json_or_as_text_or_with_the_reason_why_not() {
        for (body, expected) in [
            (Some(&br#"{"id": 7}"#[..]), r#"{"status":200,"body":{"id":7}}"#),
            (Some(b"placed \"7\""), r#"{"status":200,"body":"placed \"7\""}"#),
            (Some(b""), r#"{"status":200,"body":null}"#),
            (Some(b"\xff"), r#"{"status":200,"body":null,"body_omitted":"not text"}"#),
            (None, r#"{"status":200,"body":null,"body_omitted":"larger than 16 KiB"}"#),
        ] {
            assert_eq!(answers(&[delivery(body)]), expected);
        }
    }

    #[test]
    fn json_keeps_its_digits_and_what_no_parser_takes_is_text() {
        let exact = serde_json::to_string(&CommandResult::of(&[delivery(Some(b"[12345678901234567890.10]"))])).unwrap();
        assert!(exact.contains(r#""body":[12345678901234567890.10]"#), "{exact}");
        let deep = "[".repeat(5_000) + &"]".repeat(5_000);
        assert_eq!(answers(&[delivery(Some(deep.as_bytes()))]), format!(r#"{{"status":200,"body":"{deep}"}}"#));
    }

    #[test]
    fn all_bodies_together_are_bounded() {
        let large = vec![b'a'; 16 * 1024];
        let many: Vec<_> = (0..50).map(|_| delivery(Some(&large))).collect();
        let shown = answers(&many);
        assert!(shown.len() < 70 * 1024, "{}", shown.len());
        assert_eq!(shown.matches("more than 64 KiB in all").count(), 46);
    }
}
