//! What a page says after something was done. The query string names one of these by a code: no text of a link ever gets
//! onto a page this way.

/// Codes, and what they say.
const SENTENCES: &[(&str, &str)] = &[
    ("retried", "Asked for once more. It runs as soon as its lane lets it."),
    ("cancelled", "Called off. Its lane goes on with the next delivery."),
    ("discarded", "Discarded. It is no dead letter any more, and stays in the records as cancelled."),
    ("replayed", "Asked for again. Deliveries that were finished stand at the end of their lanes now."),
    ("released", "Released. The deliveries that today's routes ask for are planned."),
    ("promoted", "Promoted. This receipt was made of the conflict's payload."),
    ("unblocked", "The lane goes on. The dead delivery stays a dead letter."),
    ("paused", "Paused. Attempts under way end as they would, nothing new begins, and nothing is lost."),
    ("resumed", "Resumed. What waited begins at once, in its order."),
    ("stopped", "Stopped. What was done so far stays done."),
    ("began", "Begun. It goes on even if you leave this page."),
    ("signed-out", "You are logged out."),
];

/// What to say for a code.
pub(super) fn sentence(code: &str) -> Option<&'static str> {
    SENTENCES.iter().find(|(known, _)| *known == code).map(|(_, sentence)| *sentence)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_code_that_nobody_wrote_says_nothing() {
        assert_eq!(super::sentence("<script>"), None);
        assert!(super::sentence("retried").is_some());
    }
}
