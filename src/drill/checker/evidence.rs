//! All that is known about a run, with the ways through it: from an event to its receipts, from a delivery to its attempts
//! and calls.

use std::{collections::HashMap, path::Path};

use uuid::Uuid;

use super::{
    journal::{self, Call, Fault, Misbehaviour, Plan, Sent},
    stored::{self, Attempt, Delivery, Entry, Receipt, Stored},
};

/// A sink of the drill that speaks HTTP.
#[derive(Debug)]
pub(super) struct Sink {
    pub name: &'static str,
    pub calls: Vec<Call>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Evidence {
    pub plan: Plan,
    pub sends: Vec<Sent>,
    pub naive: Sink,
    pub idempotent: Sink,
    pub faults: Vec<Fault>,
    pub misbehaviour: Vec<Misbehaviour>,
    pub stored: Stored,
    receipts_by_event: HashMap<(String, String), Vec<usize>>,
    receipts_by_id: HashMap<Uuid, usize>,
    deliveries_by_id: HashMap<String, usize>,
    attempts_by_delivery: HashMap<Uuid, Vec<usize>>,
    calls_by_delivery: HashMap<String, Vec<(&'static str, usize)>>,
    entries_by_delivery: HashMap<String, Vec<usize>>,
}

impl Evidence {
    pub(super) async fn gather(home: &Path, database_url: &str) -> anyhow::Result<Self> {
        let stored = stored::read(database_url).await?;
        let calls = |name: &'static str| {
            journal::read_lines(&home.join(format!("effects-{name}.jsonl"))).map(|calls| Sink { name, calls })
        };
        let mut evidence = Self {
            plan: journal::read_plan(home)?,
            sends: journal::read_sends(home)?,
            naive: calls("naive")?,
            idempotent: calls("idempotent")?,
            faults: journal::read_lines(&home.join("faults.jsonl"))?,
            misbehaviour: journal::read_lines(&home.join("faults-sinks.jsonl"))?,
            stored,
            receipts_by_event: HashMap::new(),
            receipts_by_id: HashMap::new(),
            deliveries_by_id: HashMap::new(),
            attempts_by_delivery: HashMap::new(),
            calls_by_delivery: HashMap::new(),
            entries_by_delivery: HashMap::new(),
        };
        evidence.index();
        Ok(evidence)
    }

    fn index(&mut self) {
        for (place, receipt) in self.stored.receipts.iter().enumerate() {
            let event = (receipt.source.clone(), receipt.delivery_id.clone());
            self.receipts_by_event.entry(event).or_default().push(place);
            self.receipts_by_id.insert(receipt.id, place);
        }
        for (place, delivery) in self.stored.deliveries.iter().enumerate() {
            self.deliveries_by_id.insert(delivery.name(), place);
        }
        for (place, attempt) in self.stored.attempts.iter().enumerate() {
            self.attempts_by_delivery.entry(attempt.delivery).or_default().push(place);
        }
        for sink in [&self.naive, &self.idempotent] {
            for (place, call) in sink.calls.iter().enumerate() {
                self.calls_by_delivery.entry(call.delivery.clone()).or_default().push((sink.name, place));
            }
        }
        for (place, entry) in self.stored.ledger.iter().enumerate() {
            self.entries_by_delivery.entry(entry.delivery.clone()).or_default().push(place);
        }
    }

    pub(super) fn sinks(&self) -> [&Sink; 2] {
        [&self.naive, &self.idempotent]
    }

    pub(super) fn receipts_of(&self, source: &str, delivery_id: &str) -> impl Iterator<Item = &Receipt> {
        let places = self.receipts_by_event.get(&(source.to_owned(), delivery_id.to_owned()));
        places.into_iter().flatten().map(|place| &self.stored.receipts[*place])
    }

    pub(super) fn receipt(&self, id: Uuid) -> Option<&Receipt> {
        self.receipts_by_id.get(&id).map(|place| &self.stored.receipts[*place])
    }

    pub(super) fn delivery(&self, name: &str) -> Option<&Delivery> {
        self.deliveries_by_id.get(name).map(|place| &self.stored.deliveries[*place])
    }

    /// In the order of their numbers.
    pub(super) fn attempts_of(&self, delivery: &Delivery) -> impl Iterator<Item = &Attempt> {
        let places = self.attempts_by_delivery.get(&delivery.id);
        places.into_iter().flatten().map(|place| &self.stored.attempts[*place])
    }

    /// In the order in which the sink wrote them; each with its place in the sink's journal. A delivery has one destination.
    pub(super) fn calls_of(&self, delivery: &str) -> impl Iterator<Item = (usize, &Call)> {
        let places = self.calls_by_delivery.get(delivery);
        places.into_iter().flatten().map(|(sink, place)| {
            let sink = if *sink == self.naive.name { &self.naive } else { &self.idempotent };
            (*place, &sink.calls[*place])
        })
    }

    pub(super) fn entries_of(&self, delivery: &str) -> impl Iterator<Item = &Entry> {
        let places = self.entries_by_delivery.get(delivery);
        places.into_iter().flatten().map(|place| &self.stored.ledger[*place])
    }
}

impl Receipt {
    /// As the appliance writes it where people and programs see it.
    pub(super) fn name(&self) -> String {
        name("rcp", self.id)
    }

    /// Whether this body is the one that was stored, and the recorder noted it so.
    pub(super) fn has_body(&self, sha256: &str) -> bool {
        self.noted_sha256 == sha256 && self.body_sha256.as_deref().is_none_or(|stored| stored == sha256)
    }
}

impl Delivery {
    /// As the appliance writes it where people and programs see it.
    pub(super) fn name(&self) -> String {
        name("dlv", self.id)
    }
}

fn name(prefix: &str, id: Uuid) -> String {
    format!("{prefix}_{}", ulid::Ulid(id.as_u128()).to_string().to_ascii_lowercase())
}
