//! Keys from the text of a secret. Takes what an operator copied from the provider; gives the bytes that sign; never
//! repeats the text in an error.

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::Scheme;
use crate::domain::Secret;

/// The shortest key, in bytes. Shorter ones can be found by trying; an empty one is known to everybody.
pub const KEY_BYTES_MIN: usize = 16;

/// The longest secret of an `api` source, in bytes: what is longer in a request is refused before it is compared.
pub const TOKEN_BYTES_MAX: usize = 512;

/// How secrets of Stripe and of Standard Webhooks begin.
const PREFIX: &str = "whsec_";

/// Secrets are often copied without their padding, which carries no information.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why the text of a secret makes no key: what follows "the secret".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It is too short to be a secret.
    #[error("has {bytes} bytes; {KEY_BYTES_MIN} are the least that cannot be guessed")]
    TooShort {
        /// Bytes of the decoded key that nobody else knows: Stripe's prefix does not count.
        bytes: usize,
    },
    /// It is no base64, where base64 is needed.
    #[error("is not base64, as Standard Webhooks secrets are")]
    NotBase64,
    /// It belongs to the ed25519 variant.
    #[error("is one half of an ed25519 key pair (`whpk_`, `whsk_`), which is not supported")]
    Asymmetric,
    /// It is longer than a bearer token may be.
    #[error("has {bytes} bytes; {TOKEN_BYTES_MAX} are the most that a bearer token may have")]
    TooLong {
        /// Its bytes.
        bytes: usize,
    },
    /// It cannot stand in a header.
    #[error("holds spaces or characters that are not ASCII, which no bearer token can have")]
    NoToken,
}

impl KeyError {
    /// What to do instead.
    #[must_use]
    pub fn instead(self) -> &'static str {
        match self {
            Self::TooShort { .. } => "make a longer one: openssl rand -hex 32, and give it to the sender too",
            Self::NotBase64 => "copy it whole: `whsec_` and base64 letters after it",
            Self::Asymmetric => "use a shared secret, which begins with `whsec_`",
            Self::TooLong { .. } | Self::NoToken => "make one: openssl rand -base64 32, and give it to the caller too",
        }
    }
}

impl Scheme {
    /// The key that the text of a secret stands for. GitHub and Stripe use the text itself, Stripe with its `whsec_`;
    /// Standard Webhooks uses the bytes that the base64 after an optional `whsec_` stands for (24 to 64 of them, by its
    /// specification). An `api` source keeps the text, which is the bearer token; [`signing_key`] makes the other of it.
    /// The text is taken as it is: trimming the end of a file is left to whoever reads the file.
    ///
    /// # Errors
    /// When the key would have less than [`KEY_BYTES_MIN`] secret bytes, or the text does not have the scheme's form.
    pub fn decode_key(self, text: &str) -> Result<Secret, KeyError> {
        let key = match self {
            Self::GitHub | Self::Stripe => text.as_bytes().to_vec(),
            Self::Api => token(text)?,
            Self::StandardWebhooks => decode_base64(text)?,
        };
        let bytes = match self {
            Self::Stripe => text.strip_prefix(PREFIX).unwrap_or(text).len(),
            Self::GitHub | Self::StandardWebhooks | Self::Api => key.len(),
        };
        if bytes < KEY_BYTES_MIN {
            return Err(KeyError::TooShort { bytes });
        }
        Ok(Secret::new(key))
    }
}

/// The key of signatures that the secret of an `api` source stands for: what libraries for Standard Webhooks make of it, the
/// bytes of the base64 after an optional `whsec_`. `None` where it is no base64 or has too few bytes: such a secret serves as
/// bearer token only.
#[must_use]
pub fn signing_key(secret: &Secret) -> Option<Secret> {
    let text = std::str::from_utf8(secret.expose()).ok()?;
    let key = decode_base64(text).ok().filter(|key| key.len() >= KEY_BYTES_MIN)?;
    Some(Secret::new(key))
}

fn token(text: &str) -> Result<Vec<u8>, KeyError> {
    if text.len() > TOKEN_BYTES_MAX {
        return Err(KeyError::TooLong { bytes: text.len() });
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(KeyError::NoToken);
    }
    Ok(text.as_bytes().to_vec())
}

fn decode_base64(text: &str) -> Result<Vec<u8>, KeyError> {
    if text.starts_with("whpk_") || text.starts_with("whsk_") {
        return Err(KeyError::Asymmetric);
    }
    BASE64.decode(text.strip_prefix(PREFIX).unwrap_or(text)).map_err(|_| KeyError::NotBase64)
}
