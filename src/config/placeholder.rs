//! Secrets that everybody knows: placeholders of sample files, magic words, and the examples of public documentation. It
//! judges a text and never repeats it.

/// Texts that stand in sample files and tutorials, in small letters, without `whsec_` and without separators.
const KNOWN: [&str; 42] = [
    "changeme",
    "changethis",
    "changeit",
    "replaceme",
    "replacethis",
    "fixme",
    "todo",
    "tbd",
    "secret",
    "mysecret",
    "yoursecret",
    "yoursecrethere",
    "yourwebhooksecret",
    "yourwebhooksecrethere",
    "yoursigningsecret",
    "yourstripewebhooksecret",
    "yourgithubwebhooksecret",
    "webhooksecret",
    "githubwebhooksecret",
    "stripewebhooksecret",
    "signingsecret",
    "developmentsecret",
    "devsecret",
    "testsecret",
    "whsectestsecret",
    "defaultsecret",
    "supersecret",
    "insecure",
    "password",
    "example",
    "placeholder",
    "none",
    "null",
    "nil",
    "undefined",
    "false",
    "true",
    "disabled",
    "off",
    "renovate",
    // GitHub's documentation signs "Hello, World!" with this one.
    "itsasecrettoeverybody",
    "thesecret",
];

/// The keys of the published test vectors of Standard Webhooks, exactly as written there.
const PUBLISHED: [&str; 2] = ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "C2FVsBQIhrscChlQIMV+b5sSYspob7oD"];

/// Marks of a template that nobody has filled in.
const UNFILLED: [&str; 5] = ["${", "{{", "<your", "your-", "your_"];

/// Whether a text is no secret because everybody knows it.
pub(super) fn is_placeholder(text: &str) -> bool {
    let bare = text.strip_prefix("whsec_").unwrap_or(text);
    let lower = bare.to_lowercase();
    let folded: String = lower.chars().filter(|c| c.is_alphanumeric()).collect();
    let mut letters: Vec<char> = lower.chars().collect();
    letters.sort_unstable();
    letters.dedup();
    // Four different characters at least: "***", "xxxxxxxxxxxxxxxxxxxx" and "0000" are not random.
    letters.len() < 4
        || KNOWN.contains(&folded.as_str())
        || PUBLISHED.contains(&bare.trim_end_matches('='))
        || UNFILLED.iter().any(|mark| lower.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_everybody_knows_is_no_secret() {
        for known in [
            "changeme",
            "CHANGE_ME",
            "whsec_xxx",
            "your-secret-here",
            "***",
            "none",
            "null",
            "development_secret",
            "0",
            "whsec_",
            "It's a Secret to Everybody",
            "xxxxxxxxxxxxxxxxxxxxxxxx",
            "${GITHUB_WEBHOOK_SECRET}",
            "<your secret>",
            "whsec_your_secret_123456789",
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_test_secret",
        ] {
            assert!(is_placeholder(known), "{known}");
        }
        for good in ["a=b'c\"d<e>f&g\\h$i#j%k", "f3a9c1d07e5b4286", "whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH"] {
            assert!(!is_placeholder(good), "{good}");
        }
    }
}
