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

/// Secrets are often copied without their padding, which carries no information.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why the text of a secret makes no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It is too short to be a secret.
    #[error("the key has {bytes} bytes and must have at least {KEY_BYTES_MIN}: use the secret that the provider shows")]
    TooShort {
        /// Bytes of the decoded key.
        bytes: usize,
    },
    /// It is no base64, where base64 is needed.
    #[error("the secret is not base64: use `whsec_` and the base64 text as the provider shows it, with nothing around")]
    NotBase64,
    /// It belongs to the ed25519 variant.
    #[error(
        "the secret is one half of an ed25519 key pair (`whpk_`, `whsk_`); use a shared secret, which begins with `whsec_`"
    )]
    Asymmetric,
}

impl Scheme {
    /// The key that the text of a secret stands for. GitHub and Stripe use the text itself, Stripe with its `whsec_`;
    /// Standard Webhooks uses the bytes that the base64 after an optional `whsec_` stands for (24 to 64 of them, by its
    /// specification). The text is taken as it is: trimming the end of a file is left to whoever reads the file.
    ///
    /// # Errors
    /// When the key would have less than [`KEY_BYTES_MIN`] bytes, or the text does not have the scheme's form.
    pub fn decode_key(self, text: &str) -> Result<Secret, KeyError> {
        let key = match self {
            Self::GitHub | Self::Stripe => text.as_bytes().to_vec(),
            Self::StandardWebhooks => decode_base64(text)?,
        };
        if key.len() < KEY_BYTES_MIN {
            return Err(KeyError::TooShort { bytes: key.len() });
        }
        Ok(Secret::new(key))
    }
}

fn decode_base64(text: &str) -> Result<Vec<u8>, KeyError> {
    if text.starts_with("whpk_") || text.starts_with("whsk_") {
        return Err(KeyError::Asymmetric);
    }
    BASE64.decode(text.strip_prefix("whsec_").unwrap_or(text)).map_err(|_| KeyError::NotBase64)
}
