//! The journals: JSON lines, written and flushed by the processes around the appliance. Takes files, gives what they say.
//!
//! A writer may have died in its last line, so that one may be torn; any other line that does not read is an error, since a
//! journal with holes proves nothing.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use anyhow::Context as _;
use serde::{Deserialize, de::DeserializeOwned};

/// One request to a receiver, as it was planned, and its answer.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub plan: Planned,
    /// `None`: no answer is known, so that it may be stored or not.
    pub answer: Option<Answer>,
}

/// What the sender wrote down before it sent.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Planned {
    pub n: u64,
    pub at_us: i64,
    #[serde(default)]
    pub receiver: String,
    pub source: String,
    pub delivery_id: String,
    pub body_sha256: String,
    pub variant: String,
}

/// What came back, with any status.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub at_us: i64,
    pub status: u16,
    pub state: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "phase", rename_all = "lowercase")]
enum SendLine {
    Before(Planned),
    After { n: u64, at_us: i64, status: Option<u16>, state: Option<String> },
}

/// One call at a sink.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Call {
    pub at_us: i64,
    pub delivery: String,
    pub receipt: String,
    pub attempt: i32,
    pub delivery_id: String,
    pub body_sha256: String,
    /// False: the sink knew the key already, or refused on purpose.
    pub effect: bool,
}

/// What the nemesis did.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Fault {
    pub at_us: i64,
    pub until_us: Option<i64>,
    pub fault: String,
    #[serde(default)]
    pub target: String,
    pub pid: Option<u32>,
}

/// What a sink did to a delivery on purpose.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Misbehaviour {
    pub fault: String,
    #[serde(default)]
    pub delivery: String,
}

/// `drill.json`: what was planned. Unknown members are the drill's own business.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Plan {
    /// The routes of the configuration. Empty: they are taken from what is stored.
    pub routes: Vec<PlannedRoute>,
    /// How often each class of fault must have been injected, at least. Not there: each class that a drill knows, once.
    pub faults: Option<BTreeMap<String, usize>>,
    /// Dead letters that the plan provokes.
    pub dead_letters: usize,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct PlannedRoute {
    pub name: String,
    pub source: String,
    #[serde(default)]
    pub order: String,
    #[serde(default)]
    pub on_stale: String,
}

impl Sent {
    /// Whether the sender was told that the event is stored.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| (200..300).contains(&answer.status)) && !self.is("conflict")
    }

    /// Whether the answer said this.
    pub(super) fn is(&self, state: &str) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.state.as_deref() == Some(state))
    }

    /// Whether it may be stored although nobody said so: no answer, or one of the server's own trouble.
    pub(super) fn is_unknown(&self) -> bool {
        self.answer.as_ref().is_none_or(|answer| answer.status >= 500)
    }

    /// Whether it was sent with a signature that must be refused.
    pub(super) fn is_forged(&self) -> bool {
        self.plan.variant == "forged"
    }
}

/// Reads `sends.jsonl`: each request with its answer, in the order in which they were sent.
pub(super) fn read_sends(home: &Path) -> anyhow::Result<Vec<Sent>> {
    let mut sends = Vec::new();
    let mut answers = HashMap::new();
    for line in read_lines::<SendLine>(&home.join("sends.jsonl"))? {
        match line {
            SendLine::Before(plan) => sends.push(Sent { plan, answer: None }),
            SendLine::After { status: None, .. } => {}
            SendLine::After { n, at_us, status: Some(status), state } => {
                answers.insert(n, Answer { at_us, status, state });
            }
        }
    }
    for sent in &mut sends {
        sent.answer = answers.remove(&sent.plan.n);
    }
    anyhow::ensure!(answers.is_empty(), "sends.jsonl has answers to requests that it does not have");
    Ok(sends)
}

/// Reads one journal; one that is not there is empty.
pub(super) fn read_lines<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", path.display())),
    };
    let mut lines = Vec::new();
    let mut pieces = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((place, line)) = pieces.next() {
        // What stands after the last line's end was not written to its end.
        let is_torn = pieces.peek().is_none();
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(read) => lines.push(read),
            Err(_) if is_torn => {}
            Err(error) => anyhow::bail!("{}, line {}: {error}", path.display(), place + 1),
        }
    }
    Ok(lines)
}

/// Reads `drill.json`.
pub(super) fn read_plan(home: &Path) -> anyhow::Result<Plan> {
    let path = home.join("drill.json");
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| format!("{} does not read", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Plan::default()),
        Err(error) => Err(error).with_context(|| format!("failed to read {}", path.display())),
    }
}
