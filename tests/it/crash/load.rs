//! Events that a provider sends until each is answered with 2xx, as a good provider does.

use std::collections::BTreeMap;

use tokio::task::JoinSet;
use ulid::Ulid;

use crate::support::sender::{Letter, Sender};

/// Events of some lanes, and which of them have been answered.
pub struct Load {
    events: Vec<Event>,
    /// What was answered with 2xx: the receipt of each delivery id.
    pub answered: BTreeMap<String, String>,
}

#[derive(Clone)]
struct Event {
    id: String,
    branch: String,
    number: usize,
}

impl Load {
    pub fn new(lanes: usize, events_each: usize) -> Self {
        let event = |number| Event {
            id: uuid::Uuid::from(Ulid::generate()).to_string(),
            branch: format!("branch-{}", number % lanes),
            number,
        };
        Self { events: (0..lanes * events_each).map(event).collect(), answered: BTreeMap::new() }
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn is_answered(&self) -> bool {
        self.answered.len() == self.len()
    }

    /// Sends what has not been answered yet, at most `count`, all at once. Some may fail.
    pub async fn send(&mut self, sender: &Sender, count: usize) {
        let mut sent = JoinSet::new();
        let open = self.events.iter().filter(|event| !self.answered.contains_key(&event.id));
        for event in open.take(count) {
            let (id, letter) = (event.id.clone(), event.letter(sender));
            sent.spawn(async move { (id, letter.try_send().await) });
        }
        for (id, reply) in sent.join_all().await {
            if let Ok(reply) = reply
                && (200..300).contains(&reply.status)
            {
                self.answered.insert(id, reply.text_of("receipt"));
            }
        }
    }

    /// Sends everything that has not been answered yet, once, and expects an answer.
    pub async fn send_rest(&mut self, sender: &Sender) {
        self.send(sender, usize::MAX).await;
        assert!(self.is_answered(), "{} of {} events were answered with 2xx", self.answered.len(), self.len());
    }

    /// Sends everything again, answered or not; gives the statuses that the answers tell.
    pub async fn send_again(&self, sender: &Sender) -> Vec<String> {
        let mut statuses = Vec::new();
        for event in &self.events {
            let reply = event.letter(sender).send().await;
            assert_eq!(self.answered.get(&event.id), Some(&reply.text_of("receipt")), "the receipt is the same");
            statuses.push(reply.text_of("status"));
        }
        statuses
    }
}

impl Event {
    fn letter(&self, sender: &Sender) -> Letter {
        let Self { branch, number, .. } = self;
        let body =
            serde_json::json!({ "ref": format!("refs/heads/{branch}"), "repository": { "id": 1 }, "number": number });
        sender.github("push", body.to_string()).id(&self.id)
    }
}
