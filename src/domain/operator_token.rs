//! A token that an operator shows to be let in: its form, and the digest that is kept in its place.

use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// How tokens that Oncehook makes begin: scanners for secrets in public places find them by it.
const PREFIX: &str = "och_";

/// Random bytes of a token that Oncehook makes.
const RANDOM_BYTES: usize = 32;

/// A token that Oncehook makes. It prints without itself.
#[derive(Debug, Clone)]
pub struct OperatorToken(SecretString);

/// What is kept of a token, and compared. Its length is the same whatever the token's is.
#[derive(Debug, Clone, Copy)]
pub struct TokenDigest([u8; 32]);

impl OperatorToken {
    /// The token of these random bytes.
    #[must_use]
    pub fn of(random: [u8; RANDOM_BYTES]) -> Self {
        Self(format!("{PREFIX}{}", hex::encode(random)).into())
    }

    /// Whether a text could be one that Oncehook has made, so that the database is worth asking.
    #[must_use]
    pub fn is_shaped(text: &[u8]) -> bool {
        text.strip_prefix(PREFIX.as_bytes()).is_some_and(|rest| {
            rest.len() == 2 * RANDOM_BYTES
                && rest.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
        })
    }

    /// The text, to be shown once.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// What is kept of it.
    #[must_use]
    pub fn digest(&self) -> TokenDigest {
        TokenDigest::of(self.expose().as_bytes())
    }
}

impl TokenDigest {
    /// SHA-256. A token is random enough to need no slow hash.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether both are the same, in a time that does not tell how much of them is.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_its_shape_and_prints_without_itself() {
        let token = OperatorToken::of([0xab; 32]);
        assert!(OperatorToken::is_shaped(token.expose().as_bytes()));
        assert!(!format!("{token:?}").contains("abab"));
        for other in ["och_", "och_ABAB", "abab", &token.expose()[..67], &format!("{}0", token.expose())] {
            assert!(!OperatorToken::is_shaped(other.as_bytes()), "{other}");
        }
        assert!(token.digest().is(&TokenDigest::of(token.expose().as_bytes())));
        assert!(!token.digest().is(&TokenDigest::of(b"another")));
    }
}
