//! The header lines of one request, as they came: order and repeats kept, values as bytes.

use std::fmt::Write as _;

/// Header lines in the order they arrived. Names are compared without case; values are bytes, for senders are not
/// bound to UTF-8.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, Vec<u8>)>);

impl Headers {
    /// No headers yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line at the end. The name is kept in lower case.
    pub fn push(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.0.push((name.to_ascii_lowercase(), value.into()));
    }

    /// The lines in order, names in lower case.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// All values of one header, in order.
    pub fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        self.iter().filter(move |(held, _)| held.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The value of a header that stands exactly once; `None` when it is absent or repeated, since two answers to one
    /// question are none.
    #[must_use]
    pub fn only(&self, name: &str) -> Option<&[u8]> {
        let mut values = self.all(name);
        let first = values.next()?;
        values.next().is_none().then_some(first)
    }

    /// Like [`only`](Self::only), and valid UTF-8.
    #[must_use]
    pub fn only_text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.only(name)?).ok()
    }

    /// How many lines there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lines in the form they have on the wire (`name: value`, CR LF), which is how they are stored.
    #[must_use]
    pub fn to_wire(&self) -> Vec<u8> {
        let mut wire = Vec::with_capacity(self.0.iter().map(|(n, v)| n.len() + v.len() + 4).sum());
        for (name, value) in self.iter() {
            wire.extend_from_slice(name.as_bytes());
            wire.extend_from_slice(b": ");
            wire.extend_from_slice(value);
            wire.extend_from_slice(b"\r\n");
        }
        wire
    }

    /// Reads what [`to_wire`](Self::to_wire) wrote. Lines without a colon are passed over.
    #[must_use]
    pub fn from_wire(wire: &[u8]) -> Self {
        let mut headers = Self::new();
        for line in wire.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let (name, value) = line.split_at(colon);
            let value = value[1..].strip_prefix(b" ").unwrap_or(&value[1..]);
            headers.push(&String::from_utf8_lossy(name), value);
        }
        headers
    }
}

impl std::fmt::Debug for Headers {
    /// Names only: values may hold secrets and signatures.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Headers[")?;
        for (place, (name, _)) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_char(' ')?;
            }
            f.write_str(name)?;
        }
        f.write_char(']')
    }
}

impl<N: AsRef<str>, V: Into<Vec<u8>>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(lines: I) -> Self {
        let mut headers = Self::new();
        for (name, value) in lines {
            headers.push(name.as_ref(), value);
        }
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_read_back_from_their_stored_form() {
        let headers: Headers =
            [("X-A", &b"1"[..]), ("x-a", &b" two: 2"[..]), ("x-b", &[0xff, 0xe9][..]), ("x-c", &b""[..])]
                .into_iter()
                .collect();
        assert_eq!(Headers::from_wire(&headers.to_wire()), headers);
        assert_eq!(headers.only("X-B"), Some(&[0xff, 0xe9][..]));
        assert_eq!(headers.only("x-a"), None, "a repeated header has no one value");
    }

    #[test]
    fn a_debug_print_tells_names_and_no_values() {
        let headers: Headers = [("authorization", "canary-value")].into_iter().collect();
        assert_eq!(format!("{headers:?}"), "Headers[authorization]");
    }
}
