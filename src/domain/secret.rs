//! Secrets that must be exposed on purpose.

use secrecy::{ExposeSecret as _, SecretSlice};
use sha2::{Digest as _, Sha256};

/// A key for signatures, decoded and ready for use. It prints as its fingerprint, and never as itself.
#[derive(Clone)]
pub struct Secret {
    key: SecretSlice<u8>,
    fingerprint: Fingerprint,
}

/// Names a secret without telling it: 8 hex digits. It is stored with each receipt, so that an operator sees which of
/// several secrets a provider still uses.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Secret {
    /// Takes the key's bytes.
    #[must_use]
    pub fn new(key: Vec<u8>) -> Self {
        let mut hash = Sha256::new();
        // The label keeps this hash apart from every other use of the same key.
        hash.update(b"oncehook secret fingerprint\0");
        hash.update(&key);
        let fingerprint = Fingerprint(hex::encode(&hash.finalize()[..4]));
        Self { key: key.into(), fingerprint }
    }

    /// The key itself, for the one place that calculates with it.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        self.key.expose_secret()
    }

    /// What may be shown and stored in its place.
    #[must_use]
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({})", self.fingerprint.0)
    }
}

impl Fingerprint {
    /// One that was stored before.
    #[must_use]
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// The 8 hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_prints_as_its_fingerprint() {
        let secret = Secret::new(b"canary-0123456789".to_vec());
        let print = format!("{secret:?}");
        assert!(!print.contains("canary") && print.contains(secret.fingerprint().as_str()));
    }
}
