//! The page before a change: says what will happen and to how many, asks why, and has the one form that does it. It is what
//! keeps a slip of the finger from doing something, with JavaScript or without.

use askama::Template;

use super::{fields::Fields, shell::Shell};

/// A question with one button.
#[derive(Template)]
#[template(path = "confirm.html")]
pub(super) struct Confirm {
    pub(super) shell: Shell,
    /// What will happen, and what will not.
    pub(super) sentences: Vec<String>,
    /// To what, where that is not said yet.
    pub(super) items: Vec<String>,
    /// Where the form goes.
    pub(super) action: String,
    /// What goes with it.
    pub(super) hidden: Fields,
    /// What the button says: with the count, where it is not one.
    pub(super) button: String,
    /// primary, danger.
    pub(super) tone: &'static str,
    /// Where "Leave it as it is" leads.
    pub(super) back: String,
    /// Whether nobody may do this without saying why.
    pub(super) needs_reason: bool,
    /// Whether there is anything to do.
    pub(super) may: bool,
}

impl Confirm {
    /// With one sentence, no hidden field, and a button that harms nothing.
    pub(super) fn new(
        shell: Shell,
        sentence: impl Into<String>,
        action: impl Into<String>,
        button: impl Into<String>,
    ) -> Self {
        let action = action.into();
        Self {
            shell,
            sentences: vec![sentence.into()],
            items: Vec::new(),
            back: action.clone(),
            action,
            hidden: Fields::default(),
            button: button.into(),
            tone: "primary",
            needs_reason: false,
            may: true,
        }
    }

    /// With a button that takes something away, and a reason that must be given.
    pub(super) fn dangerous(self) -> Self {
        Self { tone: "danger", needs_reason: true, ..self }
    }

    /// Where whoever changes their mind goes.
    pub(super) fn back(self, back: impl Into<String>) -> Self {
        Self { back: back.into(), ..self }
    }
}
