//! Forwards one receipt: its bytes and headers as they came, signed anew if that was asked for. Once, and no retry: who develops
//! wants to see each event as often as it came.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use reqwest::{Client, header::HeaderValue};

use crate::{
    cli::{
        access::Access,
        http_client::{causes, client, read_answer},
        output::write_line,
        payload_text::body_of,
        stamp::short_stamp,
        visible::{Visible, VisibleBytes, cut},
    },
    clock::Clock,
    domain::{Headers, Secret},
    fixture::Fixture,
    store::receipt_list::ReceiptLine,
    verify::Scheme,
};

/// How long the service here may take: somebody may look at it in a debugger.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Letters of an answer that are shown.
const SHOWN_MAX: usize = 80;

/// How requests of each source are signed.
pub(super) type Seals = BTreeMap<String, (Scheme, Secret)>;

/// Who brings receipts to the service.
pub(super) struct Forwarder {
    client: Client,
    to: url::Url,
    seals: Option<Seals>,
    is_json: bool,
    forwarded: usize,
}

/// What is printed about one, as JSON.
#[derive(serde::Serialize)]
struct Forwarded<'a> {
    receipt: String,
    source: &'a str,
    event_type: &'a str,
    delivery_id: &'a str,
    signed: bool,
    /// What the service answered; `None`: nothing.
    status: Option<u16>,
    took_ms: u128,
    error: Option<String>,
}

impl Forwarder {
    pub(super) fn to(to: url::Url, seals: Option<Seals>, is_json: bool) -> anyhow::Result<Self> {
        Ok(Self { client: client(1, ANSWER_TIMEOUT)?, to, seals, is_json, forwarded: 0 })
    }

    /// Forwards one, and prints a line about it. Gives whether anybody still reads the lines.
    ///
    /// # Errors
    /// When standard output takes no more.
    pub(super) async fn forward(&mut self, access: &Access, line: &ReceiptLine) -> anyhow::Result<bool> {
        let began = Instant::now();
        let made = self.request_of(access, line).await;
        let is_signed = matches!(made, Ok((_, true)));
        let outcome = match made {
            Ok((request, _)) => self.post(request).await,
            Err(error) => Err(format!("not forwarded: {error:#}")),
        };
        self.forwarded += 1;
        let took = began.elapsed();
        write_line(&if self.is_json {
            let told = Forwarded {
                receipt: line.id.to_string(),
                source: &line.source,
                event_type: &line.event_type,
                delivery_id: &line.delivery_id,
                signed: is_signed,
                status: outcome.as_ref().ok().map(|(status, _)| *status),
                took_ms: took.as_millis(),
                error: outcome.err(),
            };
            serde_json::to_string(&told)?
        } else {
            self.view(line, took, &outcome)
        })
    }

    /// How many there were.
    pub(super) fn say_goodbye(&self) {
        eprintln!("forwarded {}", crate::cli::output::count(self.forwarded, "receipt", "receipts"));
    }

    /// The headers and the body to send, and whether they are signed.
    async fn request_of(&self, access: &Access, line: &ReceiptLine) -> anyhow::Result<((Headers, Vec<u8>), bool)> {
        let payload = access.payload(line.id).await?;
        let payload = payload.ok_or_else(|| anyhow::anyhow!("its payload is no longer kept"))?;
        let headers: Headers = payload.headers.iter().map(|(name, value)| (name, value.as_bytes())).collect();
        let body = body_of(&payload)?;
        let (fixture, _) = Fixture::of_recorded(&headers, body);
        let mut headers = fixture.headers;
        let seal = self.seals.as_ref().and_then(|seals| seals.get(&line.source));
        if let Some((scheme, secret)) = seal {
            let signature = scheme.sign(secret, &line.delivery_id, Clock::system().now(), &fixture.body);
            let is_signature = |name: &str| signature.iter().any(|(signed, _)| *signed == name);
            headers = headers.iter().filter(|(name, _)| !is_signature(name)).collect();
            signature.iter().for_each(|(name, value)| headers.push(name, value.as_bytes()));
        }
        Ok(((headers, fixture.body.to_vec()), seal.is_some()))
    }

    /// One request. The status and the beginning of the answer, or why there is none.
    async fn post(&self, (headers, body): (Headers, Vec<u8>)) -> Result<(u16, Vec<u8>), String> {
        let mut request = self.client.post(self.to.clone()).body(body);
        for (name, value) in headers.iter() {
            // A value that no header can have was not one when it came; it was made visible for people.
            if let Ok(value) = HeaderValue::from_bytes(value) {
                request = request.header(name, value);
            }
        }
        let response = request.send().await.map_err(|error| causes(&error))?;
        let status = response.status().as_u16();
        Ok((status, read_answer(response).await.unwrap_or_default()))
    }

    fn view(&self, line: &ReceiptLine, took: Duration, outcome: &Result<(u16, Vec<u8>), String>) -> String {
        let head = format!(
            "{}  {}  {}  {}",
            short_stamp(line.received_at),
            Visible(&line.source),
            Visible(&cut(&line.event_type, SHOWN_MAX)),
            Visible(&cut(&line.delivery_id, SHOWN_MAX))
        );
        match outcome {
            Ok((status, _)) if (200..300).contains(status) => format!("{head}  → {status} in {} ms", took.as_millis()),
            Ok((status, body)) => {
                let first = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
                let said = cut(&VisibleBytes(first).to_string(), SHOWN_MAX);
                format!("{head}  → {status} in {} ms  {said}", took.as_millis()).trim_end().to_owned()
            }
            Err(why) => format!("{head}  → {}", Visible(&cut(why, 200))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{sample, visible::HOSTILE};

    #[test]
    fn a_line_is_one_line_whatever_a_sender_or_a_service_writes() {
        let forwarder = Forwarder::to("http://127.0.0.1:1/".parse().unwrap(), None, false).unwrap();
        for text in HOSTILE {
            let line = ReceiptLine {
                id: sample::receipt_id(),
                received_at: sample::morning(),
                source: "github".to_owned(),
                event_type: (*text).to_owned(),
                delivery_id: (*text).to_owned(),
                arrivals: 1,
                deliveries: vec![],
                flags: vec![],
            };
            for outcome in [Ok((500, text.as_bytes().to_vec())), Err((*text).to_owned()), Ok((200, vec![]))] {
                let shown = forwarder.view(&line, Duration::from_millis(4), &outcome);
                assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
            }
        }
    }
}
