//! Fixtures: takes the bytes of a `.http` file, gives a request that is ready to be signed; never reads files itself.
//!
//! Such a file is header lines, a blank line and the exact bytes of a body. Some are built into the program.

use bytes::Bytes;

use crate::domain::Headers;

/// The fixtures of this repository, built into the binary (a debug build reads them from the folder).
#[derive(rust_embed::Embed)]
#[folder = "fixtures/"]
struct Files;

/// A request as a provider would send it, without its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixture {
    /// Header lines, in order.
    pub headers: Headers,
    /// The body, byte for byte.
    pub body: Bytes,
}

/// Where a built-in fixture is found: `github push`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct FixtureName {
    /// The folder: who sends.
    pub provider: String,
    /// The file, without `.http`.
    pub name: String,
}

/// Why there is no fixture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FixtureError {
    /// There is no blank line.
    #[error("the blank line between headers and body is missing")]
    NoBlankLine,
    /// A header line is none.
    #[error("line {line} is not a header: write \"name: value\"")]
    NotAHeader {
        /// Counted from 1.
        line: usize,
    },
    /// It is not built in.
    #[error("there is no fixture {provider:?} {name:?}{}: \"oncehook send --list\" shows all", did_you_mean(.nearest))]
    Unknown {
        /// What was asked for.
        provider: String,
        /// What was asked for.
        name: String,
        /// What was perhaps meant.
        nearest: Option<FixtureName>,
    },
}

impl Fixture {
    /// Reads a fixture from the bytes of its file. Header lines end with LF or CR LF; everything after the blank line is
    /// the body, a line feed at the end of the file included.
    ///
    /// # Errors
    /// When the blank line is missing, or a line before it is not a header.
    pub fn parse(file: &[u8]) -> Result<Self, FixtureError> {
        let mut headers = Headers::new();
        let mut rest = file;
        for line in 1.. {
            let end = rest.iter().position(|byte| *byte == b'\n').ok_or(FixtureError::NoBlankLine)?;
            let (text, after) = (&rest[..end], &rest[end + 1..]);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            rest = after;
            if text.is_empty() {
                break;
            }
            let (name, value) = split_header(text).ok_or(FixtureError::NotAHeader { line })?;
            headers.push(name, value);
        }
        Ok(Self { headers, body: Bytes::copy_from_slice(rest) })
    }

    /// The built-in fixture of this name.
    ///
    /// # Errors
    /// When there is none (the error names the nearest), or its file is broken.
    pub fn built_in(provider: &str, name: &str) -> Result<Self, FixtureError> {
        let file = Files::get(&format!("{provider}/{name}.http")).ok_or_else(|| FixtureError::Unknown {
            provider: provider.to_owned(),
            name: name.to_owned(),
            nearest: nearest(provider, name),
        })?;
        Self::parse(&file.data)
    }

    /// All that are built in, sorted.
    #[must_use]
    pub fn names() -> Vec<FixtureName> {
        let mut names: Vec<_> = Files::iter()
            .filter_map(|path| {
                let (provider, file) = path.split_once('/')?;
                let name = file.strip_suffix(".http")?.to_owned();
                Some(FixtureName { provider: provider.to_owned(), name })
            })
            .collect();
        names.sort();
        names
    }
}

fn split_header(line: &[u8]) -> Option<(&str, &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = std::str::from_utf8(&line[..colon]).ok()?;
    let is_token =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&b));
    is_token.then(|| (name, line[colon + 1..].trim_ascii()))
}

fn nearest(provider: &str, name: &str) -> Option<FixtureName> {
    let asked = format!("{provider} {name}");
    Fixture::names()
        .into_iter()
        .map(|known| (strsim::jaro_winkler(&asked, &format!("{} {}", known.provider, known.name)), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, known)| known)
}

fn did_you_mean(nearest: &Option<FixtureName>) -> String {
    nearest.as_ref().map(|known| format!("; did you mean \"{} {}\"?", known.provider, known.name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixture_keeps_every_byte_after_the_blank_line() {
        let fixture = Fixture::parse(b"X-A: 1\r\nx-b:two: 2 \n\r\n\n{\"a\":1}\r\n\xff\n").unwrap();
        assert_eq!(fixture.body, &b"\n{\"a\":1}\r\n\xff\n"[..]);
        let headers: Vec<_> = fixture.headers.iter().collect();
        assert_eq!(headers, [("x-a", &b"1"[..]), ("x-b", &b"two: 2"[..])]);
        assert_eq!(Fixture::parse(b"\n").unwrap().body, &b""[..]);
    }

    #[test]
    fn a_broken_fixture_names_the_line() {
        assert_eq!(Fixture::parse(b"x-a: 1\n{}"), Err(FixtureError::NoBlankLine));
        assert_eq!(Fixture::parse(b"x-a: 1\nPOST / HTTP/1.1\n\n"), Err(FixtureError::NotAHeader { line: 2 }));
        assert_eq!(Fixture::parse(b": 1\n\n"), Err(FixtureError::NotAHeader { line: 1 }));
    }

    #[test]
    fn every_built_in_fixture_can_be_read() {
        let names = Fixture::names();
        assert!(names.iter().any(|known| known.provider == "github" && known.name == "push"), "{names:?}");
        for known in names {
            let fixture = Fixture::built_in(&known.provider, &known.name).unwrap();
            assert!(fixture.headers.only("content-type").is_some(), "{known:?} says what its body is");
        }
    }

    #[test]
    fn an_unknown_fixture_is_answered_with_the_nearest() {
        let refusal = Fixture::built_in("github", "psuh").unwrap_err().to_string();
        assert!(refusal.contains("did you mean \"github push\"?") && refusal.contains("--list"), "{refusal}");
    }
}
