//! Takes the story of a receipt, and its payload, and gives the page that `receipts show` prints. Pure; everything that a
//! sender or a destination wrote is made safe for a terminal, and what proves or opens something is not shown.

use super::{
    colour::{Paint, Palette},
    delivery_view::delivery_lines,
    payload_text::body_of,
    payload_view::payload_lines,
    stamp::stamp,
    verdict::verdict,
    visible::Visible,
};
use crate::{
    operate::PayloadText,
    store::receipt_story::{ReceiptFacts, ReceiptStory},
};

/// The whole page. `payload` is `None` once its time is over.
#[must_use]
pub fn story_view(story: &ReceiptStory, payload: Option<&PayloadText>, palette: Palette) -> String {
    let mut lines = vec![palette.paint(Paint::Strong, &format!("receipt {}", story.facts.id)), String::new()];
    lines.extend(verdict(story));
    lines.push(String::new());
    push_facts(&mut lines, &story.facts);
    push_arrivals(&mut lines, story);
    for delivery in &story.deliveries {
        lines.extend(delivery_lines(delivery, palette));
    }
    push_payload(&mut lines, &story.facts, payload);
    lines.join("\n")
}

fn push_facts(lines: &mut Vec<String>, facts: &ReceiptFacts) {
    let mut fact = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            lines.push(format!("  {name:<18} {}", Visible(&value)));
        }
    };
    fact("source", Some(facts.source.clone()));
    fact("event type", Some(facts.event_type.clone()));
    fact("delivery id", Some(facts.delivery_id.clone()));
    fact("hook id", facts.hook_id.clone());
    fact("ordering key", facts.ordering_key.clone());
    fact("received", Some(format!("{} UTC", stamp(facts.received_at))));
    fact("recorded", Some(format!("{} UTC", stamp(facts.recorded_at))));
    fact("event time", facts.event_time.map(|time| event_time(facts, &stamp(time))));
    fact("version", facts.version.as_ref().map(ToString::to_string));
    fact("signed at", facts.signed_at.map(|time| format!("{} UTC", stamp(time))));
    let secret = facts.secret_fingerprint.as_ref().map(|print| format!("fingerprint {print}"));
    fact("secret", secret.or_else(|| Some("none: the source takes unsigned requests".to_owned())));
    fact("from", facts.remote_address.clone());
    fact("body digest", Some(format!("sha256:{}", facts.body_digest)));
    fact("normalised digest", Some(format!("sha256:{}", facts.normalised_digest)));
    fact("flags", (!facts.flags.is_empty()).then(|| facts.flags.join(", ")));
}

fn event_time(facts: &ReceiptFacts, time: &str) -> String {
    match &facts.event_time_path {
        Some(path) => format!("{time} UTC, by {path}"),
        None => format!("{time} UTC"),
    }
}

fn push_arrivals(lines: &mut Vec<String>, story: &ReceiptStory) {
    lines.push(String::new());
    lines.push("arrivals".to_owned());
    lines.push(format!("  {} UTC  first", stamp(story.facts.received_at)));
    for arrival in &story.later_arrivals {
        let mut line = format!("  {} UTC  {}", stamp(arrival.arrived_at), Visible(&arrival.kind));
        if let Some(address) = &arrival.remote_address {
            line += &format!("  from {}", Visible(address));
        }
        if let Some(hook) = arrival.hook_id.as_ref().filter(|hook| Some(*hook) != story.facts.hook_id.as_ref()) {
            line += &format!("  through hook {}", Visible(hook));
        }
        if arrival.repeats > 0 {
            line += &format!("  and {} more, only counted", arrival.repeats);
        }
        lines.push(line);
    }
    for conflict in &story.conflicts {
        lines.push(format!(
            "  conflict {}: {} UTC  {}  {} bytes  sha256:{}",
            conflict.conflict,
            stamp(conflict.arrived_at),
            Visible(&conflict.event_type),
            conflict.body_bytes,
            conflict.body_digest
        ));
    }
}

fn push_payload(lines: &mut Vec<String>, facts: &ReceiptFacts, payload: Option<&PayloadText>) {
    lines.push(String::new());
    let Some(payload) = payload else {
        lines.push(format!("payload: {} bytes, no longer kept", facts.body_bytes));
        return;
    };
    lines.push("headers".to_owned());
    lines.extend(payload.headers.iter().map(|(name, value)| format!("  {}: {}", Visible(name), Visible(value))));
    lines.push(String::new());
    lines.push(format!("payload, {} bytes", payload.bytes));
    let body = body_of(payload).unwrap_or_default();
    lines.extend(payload_lines(&body).into_iter().map(|line| format!("  {line}")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{payload_text::payload_text, sample},
        domain::{DeliveryState, Version},
        store::{delivery_story::Staleness, receipt_story::Payload},
    };

    fn payload(body: &[u8]) -> PayloadText {
        let headers = [("x-github-event", "push"), ("x-hub-signature-256", "sha256=00")].into_iter().collect();
        payload_text(&Payload { headers, body: body.to_vec() })
    }

    #[test]
    fn a_receipt_tells_its_whole_story() {
        let page = story_view(&sample::story(), Some(&payload(br#"{"ref":"a","n":1}"#)), Palette::plain());
        insta::assert_snapshot!(page, @r#"
        receipt rcp_01ke6vafet00000000000000r1

        The delivery to deployer succeeded on attempt 2.

          source             github
          event type         push
          delivery id        0b989ba4-242f-11e5-81e1-c7b6966d2516
          hook id            100000001
          ordering key       ref/200000001/refs/heads/main
          received           2026-01-05 10:00:00.250 UTC
          recorded           2026-01-05 10:00:00.253 UTC
          event time         2026-01-05 09:59:58.250 UTC, by repository.pushed_at
          secret             fingerprint 5eed5eed
          from               192.0.2.7
          body digest        sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
          normalised digest  sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb

        arrivals
          2026-01-05 10:00:00.250 UTC  first

        delivery dlv_01ke6vafet00000000000000d1
          deploy → deployer: succeeded
          lane ref/200000001/refs/heads/main
          #  trigger    started (UTC)            took   outcome    answer         reason                            worker
          1  automatic  2026-01-05 10:00:01.250  12 ms  failed     503 try later  answered 503 Service Unavailable  host-1/7
          2  automatic  2026-01-05 10:00:02.250  12 ms  succeeded  200            answered 200 OK                   host-1/7

        headers
          x-github-event: push
          x-hub-signature-256: (not shown, 9 bytes)

        payload, 17 bytes
          {
            "ref": "a",
            "n": 1
          }
        "#);
    }

    #[test]
    fn duplicates_conflicts_and_a_payload_that_is_gone_are_told() {
        let mut story = sample::story();
        story.later_arrivals = vec![sample::arrival("duplicate"), sample::arrival("conflict")];
        story.later_arrivals[1].repeats = 3;
        story.later_arrivals[1].hook_id = Some("9".to_owned());
        story.conflicts = vec![sample::conflict()];
        story.deliveries[0].attempts.clear();
        story.facts.secret_fingerprint = None;
        insta::assert_snapshot!(story_view(&story, None, Palette::plain()), @"
        receipt rcp_01ke6vafet00000000000000r1

        The delivery to deployer succeeded on attempt 1.
        1 other payload came under the same delivery id: kept beside the first, and not run.

          source             github
          event type         push
          delivery id        0b989ba4-242f-11e5-81e1-c7b6966d2516
          hook id            100000001
          ordering key       ref/200000001/refs/heads/main
          received           2026-01-05 10:00:00.250 UTC
          recorded           2026-01-05 10:00:00.253 UTC
          event time         2026-01-05 09:59:58.250 UTC, by repository.pushed_at
          secret             none: the source takes unsigned requests
          from               192.0.2.7
          body digest        sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
          normalised digest  sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb

        arrivals
          2026-01-05 10:00:00.250 UTC  first
          2026-01-05 10:00:00.250 UTC  duplicate  from 192.0.2.7
          2026-01-05 10:00:00.250 UTC  conflict  from 192.0.2.7  through hook 9  and 3 more, only counted
          conflict 1: 2026-01-05 10:00:00.250 UTC  push  7 bytes  sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc

        delivery dlv_01ke6vafet00000000000000d1
          deploy → deployer: succeeded
          lane ref/200000001/refs/heads/main
          no attempt yet

        payload: 16 bytes, no longer kept
        ");
    }

    #[test]
    fn decisions_about_order_are_explained() {
        let mut story = sample::stale_story();
        let lines = |story: &ReceiptStory| {
            let page = story_view(story, None, Palette::plain());
            let told =
                |line: &&str| ["  version", "  lane", "  skipped", "  delivered"].iter().any(|b| line.starts_with(b));
            page.lines().filter(told).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(lines(&story), @r"
          version            repository.pushed_at 2026-01-05 09:59:58, leads from nothing to 6dcb09b5b578
          lane ref/200000001/refs/heads/main, by event time
          skipped: stale: repository.pushed_at 09:59:58 is older than 10:00:00 applied by rcp_01ke6vafet00000000000000r2
        ");
        story.deliveries[0].state = DeliveryState::Succeeded;
        insta::assert_snapshot!(lines(&story).lines().last().unwrap().trim_start(), @"delivered stale: repository.pushed_at 09:59:58 is older than 10:00:00 applied by rcp_01ke6vafet00000000000000r2");
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in crate::cli::visible::HOSTILE {
            let mut story = sample::story();
            story.facts.ordering_key = Some((*text).to_owned());
            story.facts.flags = vec![(*text).to_owned()];
            story.facts.version = Some(Version { scale: (*text).into(), parts: vec![1], chain: None });
            story.deliveries[0].stale = Some(Staleness { against: sample::receipt_id(), why: (*text).to_owned() });
            story.facts.remote_address = Some((*text).to_owned());
            story.deliveries[0].ordering_key = Some((*text).to_owned());
            story.deliveries[0].last_error = Some((*text).to_owned());
            story.deliveries[0].state = DeliveryState::Dead;
            story.deliveries[0].attempts[0].reason = Some((*text).to_owned());
            story.deliveries[0].attempts[0].answer_beginning = Some((*text).to_owned());
            let page = story_view(&story, Some(&payload(text.as_bytes())), Palette::plain());
            let shown = page.replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }
}
