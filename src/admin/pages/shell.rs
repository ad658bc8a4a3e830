//! What is around every page: navigation, search, who is signed in, what was just done.

use super::statics;

/// Where in the navigation a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    /// Not in it.
    Nowhere,
    /// `/`
    Overview,
    /// `/receipts`
    Receipts,
    /// `/deliveries`
    Deliveries,
    /// `/dead-letters`
    DeadLetters,
    /// `/lanes`
    Lanes,
    /// `/conflicts`
    Conflicts,
    /// `/sources`
    Sources,
    /// `/destinations`
    Destinations,
    /// `/audit`
    Audit,
}

/// One link of the navigation.
pub(super) struct Stop {
    here: Here,
    pub(super) path: &'static str,
    pub(super) word: &'static str,
}

const STOPS: [Stop; 9] = [
    Stop { here: Here::Overview, path: "/", word: "Overview" },
    Stop { here: Here::Receipts, path: "/receipts", word: "Receipts" },
    Stop { here: Here::Deliveries, path: "/deliveries", word: "Deliveries" },
    Stop { here: Here::DeadLetters, path: "/dead-letters", word: "Dead letters" },
    Stop { here: Here::Lanes, path: "/lanes", word: "Lanes" },
    Stop { here: Here::Conflicts, path: "/conflicts", word: "Conflicts" },
    Stop { here: Here::Sources, path: "/sources", word: "Sources" },
    Stop { here: Here::Destinations, path: "/destinations", word: "Destinations" },
    Stop { here: Here::Audit, path: "/audit", word: "Audit" },
];

/// What the layout needs to know.
#[derive(Debug, Clone)]
pub struct Shell {
    pub(super) title: String,
    pub(super) here: Here,
    /// Who is signed in; `None`: nobody, so that there is no navigation.
    pub(super) operator: Option<String>,
    pub(super) role: &'static str,
    pub(super) may_operate: bool,
    pub(super) csrf: String,
    pub(super) flash: Option<&'static str>,
    /// What stands in the search box.
    pub(super) sought: String,
    /// Seconds after which a browser without JavaScript loads the page again.
    pub(super) refresh: Option<u32>,
    /// What the script does with events: "mark" says that there is something new, "renew" loads the page's live part again.
    pub(super) live: &'static str,
}

impl Shell {
    /// Around a page for somebody who is not signed in.
    pub(super) fn outside() -> Self {
        Self {
            title: String::new(),
            here: Here::Nowhere,
            operator: None,
            role: "",
            may_operate: false,
            csrf: String::new(),
            flash: None,
            sought: String::new(),
            refresh: None,
            live: "",
        }
    }

    /// Says when events come that change this page.
    pub(super) fn marking(self) -> Self {
        Self { live: "mark", ..self }
    }

    /// Loads its live part again when events come, and without JavaScript after so many seconds.
    pub(super) fn renewing(self, seconds: u32) -> Self {
        Self { live: "renew", refresh: Some(seconds), ..self }
    }

    pub(super) fn stops(&self) -> &'static [Stop] {
        &STOPS
    }

    pub(super) fn is_at(&self, stop: &Stop) -> bool {
        self.here == stop.here
    }

    pub(super) fn style(&self) -> &'static str {
        statics::link("oncehook.css")
    }

    pub(super) fn script(&self) -> &'static str {
        statics::link("oncehook.js")
    }

    pub(super) fn icon(&self) -> &'static str {
        statics::link("favicon.svg")
    }
}
