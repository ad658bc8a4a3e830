//! How to set up a provider so that its deliveries come in here: what to choose on its pages, in words. Facts about
//! providers, no code of theirs.

use crate::provider::Provider;

/// One setting on the provider's side.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) value: &'static str,
    pub(super) why: &'static str,
}

/// What to do on the provider's side.
pub(super) struct Setup {
    pub(super) provider: &'static str,
    /// Where the settings are.
    pub(super) place: &'static str,
    pub(super) settings: &'static [Setting],
    /// How to see that it works.
    pub(super) test: &'static str,
    /// What it does when a delivery fails.
    pub(super) failure: &'static str,
}

/// For one provider.
pub(super) fn setup_of(provider: Provider) -> &'static Setup {
    match provider {
        Provider::GitHub => &GITHUB,
        Provider::Stripe => &STRIPE,
        Provider::StandardWebhooks => &STANDARD_WEBHOOKS,
        Provider::Api => &API,
    }
}

const GITHUB: Setup = Setup {
    provider: "GitHub",
    place: "In the repository or organisation: Settings → Webhooks → Add webhook. For a GitHub App: its settings → Webhook.",
    settings: &[
        Setting {
            name: "Payload URL",
            value: "the URL above",
            why: "GitHub refuses localhost and addresses of a local network.",
        },
        Setting {
            name: "Content type",
            value: "application/json",
            why: "GitHub's own default for hooks made through its API is a form; Oncehook reads both, JSON is easier to look at.",
        },
        Setting {
            name: "Secret",
            value: "the secret of this source",
            why: "Without it GitHub does not sign, and Oncehook refuses what is not signed.",
        },
        Setting { name: "SSL verification", value: "enabled", why: "It keeps the payloads between GitHub and you." },
        Setting {
            name: "Which events",
            value: "the ones that your routes name",
            why: "Others are stored all the same, and delivered nowhere.",
        },
    ],
    test: "GitHub sends a ping as soon as the webhook is saved: the light below turns green. It can be sent again under Recent Deliveries.",
    failure: "GitHub waits 10 seconds for an answer and never tries again by itself. Recent Deliveries → Redeliver sends one again, for 3 days.",
};

const STRIPE: Setup = Setup {
    provider: "Stripe",
    place: "In the Stripe Dashboard: Developers → Webhooks → Add destination (or Add endpoint).",
    settings: &[
        Setting { name: "Endpoint URL", value: "the URL above", why: "Live mode takes https only." },
        Setting {
            name: "Events",
            value: "the ones that your routes name",
            why: "Stripe sends nothing that is not chosen.",
        },
        Setting {
            name: "Signing secret",
            value: "reveal it (whsec_…) and give it to this source whole, with its prefix",
            why: "Each endpoint has its own, and test and live mode have different ones: a source can hold several.",
        },
        Setting {
            name: "API version",
            value: "pin one",
            why: "The same event looks different in another version; a change of it would be kept here as a conflict.",
        },
    ],
    test: "Send a test event from the endpoint's page, or make one in test mode: the light below turns green.",
    failure: "Stripe tries again for up to three days in live mode, and a few times within hours in a sandbox. Resend works for 15 days.",
};

const STANDARD_WEBHOOKS: Setup = Setup {
    provider: "Standard Webhooks",
    place: "Where the sender lets you add an endpoint. Svix, Clerk, Resend, OpenAI and others follow this standard.",
    settings: &[
        Setting { name: "URL", value: "the URL above", why: "" },
        Setting {
            name: "Signing secret",
            value: "whsec_… as the sender shows it",
            why: "Behind the prefix it is base64: Oncehook decodes it as the standard says.",
        },
        Setting {
            name: "Events",
            value: "the ones that your routes name",
            why: "The event type is read from \"type\" in the payload.",
        },
    ],
    test: "Most senders have a button that sends an example: the light below turns green.",
    failure: "Most senders try again for a day or more, with the same webhook-id: Oncehook recognises it.",
};

const API: Setup = Setup {
    provider: "your own producers",
    place: "In your own programs: each has a name (a caller) and a secret of its own in the configuration.",
    settings: &[
        Setting {
            name: "Method and URL",
            value: "POST to the URL above",
            why: "The answer is 202 with a Location to look at.",
        },
        Setting {
            name: "Authorization",
            value: "Bearer and the caller's secret, or a Standard Webhooks signature made with it",
            why: "A signature keeps the secret off the wire.",
        },
        Setting {
            name: "Idempotency-Key",
            value: "one key for each thing that should happen once",
            why: "The same key again gives the same command, whatever became of the first answer.",
        },
        Setting { name: "Content-Type", value: "application/json", why: "Routes can look into it." },
    ],
    test: "Post one command: the light below turns green.",
    failure: "Send it again with the same key until there is an answer: it is run once.",
};
