//! What one exploration is about: the requests that are sent, the kind of destination, how many faults may happen, and
//! which safety is switched off, if any.

/// What a sender sends, up to `sends` times. A sender that did not get an answer sends again; that is among them.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    pub event: u8,
    pub payload: u8,
    pub lane: u8,
    pub sends: u8,
}

/// What the destinations of deliveries are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sink {
    /// A naive log across a network: it counts each call that reaches it.
    Network,
    /// Effect and mark share one transaction, which holds the delivery's row and checks the token.
    Transaction,
}

/// How many faults of each kind may still happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Faults {
    /// A receiver or a worker dies; what it had sent to the database may happen all the same.
    pub crashes: u8,
    /// A worker stands still, for longer than its lease if it likes, and goes on as if nothing had been.
    pub pauses: u8,
    /// A reply is lost: the database's after a commit or after a rollback, or a destination's.
    pub losses: u8,
    /// A destination refuses a delivery for good: it becomes a dead letter.
    pub refusals: u8,
}

/// A safety switched off. Each must break the promise that its test names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    AnswerBeforeCommit,
    CommitErrorTakenForSuccess,
    DeliveryBeforeReceipt,
    CheckThenInsert,
    ConflictOverwrites,
    MarkBeforeEffect,
    EffectBesideItsTransaction,
    NoToken,
    SkipLocked,
    SequenceBeforeLock,
    RetireInOneStatement,
    CrashNeverCounted,
    NobodyRescues,
}

/// One model.
#[derive(Debug, Clone)]
pub struct Setting {
    pub requests: Vec<Request>,
    pub sink: Sink,
    pub faults: Faults,
    /// The event that kills every worker that begins to run it.
    pub poison: Option<u8>,
    /// The deaths of workers after which a delivery is a dead letter.
    pub crashes_max: u8,
    /// A job's budget is one delivery: it hands its lane over after each.
    pub hands_over: bool,
    /// Whether a turn asks first if the lane still belongs to its job. An economy, says `store::turns::Asking`.
    pub asks_for_owner: bool,
    pub flaw: Option<Flaw>,
}

impl Setting {
    pub fn new(sink: Sink, requests: &[(u8, u8, u8, u8)], faults: Faults) -> Self {
        let requests =
            requests.iter().map(|&(event, payload, lane, sends)| Request { event, payload, lane, sends }).collect();
        Self {
            requests,
            sink,
            faults,
            poison: None,
            crashes_max: 3,
            hands_over: false,
            asks_for_owner: true,
            flaw: None,
        }
    }

    pub fn with(self, flaw: Flaw) -> Self {
        Self { flaw: Some(flaw), ..self }
    }

    pub fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }
}
