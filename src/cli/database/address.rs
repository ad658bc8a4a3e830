//! Database URLs for people and programs: with the password masked, or taken out. Pure.

use url::Url;

/// What stands for a password.
const MASK: &str = "***";

/// The URL with its password masked. Text that is no URL is not shown at all: who knows what is in it.
#[must_use]
pub fn masked(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url) else { return "(not a URL)".to_owned() };
    if parsed.password().is_some() && parsed.set_password(Some(MASK)).is_err() {
        return "(not shown)".to_owned();
    }
    map_password_parameter(&mut parsed, Some(MASK));
    parsed.to_string()
}

/// The URL without its password, and the password: programs take it through `PGPASSWORD`, since command lines can be
/// seen by everyone on the machine.
#[must_use]
pub fn without_password(url: &str) -> (String, Option<String>) {
    let Ok(mut parsed) = Url::parse(url) else { return (url.to_owned(), None) };
    let in_front = parsed.password().map(percent_decode);
    let behind = parsed.query_pairs().find(|(name, _)| name == "password").map(|(_, value)| value.into_owned());
    if in_front.is_none() && behind.is_none() {
        return (url.to_owned(), None);
    }
    // It fails only for URLs that cannot have a password, and those have none.
    let _ = parsed.set_password(None);
    map_password_parameter(&mut parsed, None);
    (parsed.to_string(), behind.or(in_front))
}

fn map_password_parameter(url: &mut Url, replacement: Option<&str>) {
    if !url.query_pairs().any(|(name, _)| name == "password") {
        return;
    }
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter_map(|(name, value)| match (&*name, replacement) {
            ("password", None) => None,
            ("password", Some(mask)) => Some((name.into_owned(), mask.to_owned())),
            _ => Some((name.into_owned(), value.into_owned())),
        })
        .collect();
    url.query_pairs_mut().clear().extend_pairs(kept);
}

/// Undoes percent encoding; the parser of forms does it too, save that it reads `+` as a space.
fn percent_decode(text: &str) -> String {
    let form = format!("p={}", text.replace('+', "%2B"));
    url::form_urlencoded::parse(form.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for url in
            ["postgres://u:canary@h/db", "postgres://h/db?password=canary&sslmode=require", "host=h password=canary"]
        {
            assert!(!masked(url).contains("canary"), "{}", masked(url));
        }
        assert_eq!(masked("postgres://u:canary@h:1/db?a=b"), "postgres://u:***@h:1/db?a=b");
        let without = "postgresql:///oncehook?host=/run/x&user=oncehook";
        assert_eq!(masked(without), without);
    }

    #[test]
    fn a_program_gets_the_password_apart_from_the_url() {
        let (url, password) = without_password("postgres://u:c%40n+%26y@h/db");
        assert_eq!((url.as_str(), password.as_deref()), ("postgres://u@h/db", Some("c@n+&y")));
        let (url, password) = without_password("postgres://u@h/db?password=c%26&sslmode=require");
        assert_eq!((url.as_str(), password.as_deref()), ("postgres://u@h/db?sslmode=require", Some("c&")));
        let without = "postgresql:///oncehook?host=/run/x&user=oncehook";
        assert_eq!(without_password(without), (without.to_owned(), None));
    }
}
