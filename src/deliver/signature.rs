//! Standard Webhooks signatures for what is sent: takes a key, an id, a time and a body, gives the header's value. Never
//! keeps any of them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::domain::Secret;

/// The value of `webhook-signature`: `v1,` and the base64 of HMAC-SHA256 over `{id}.{timestamp}.{body}`, the timestamp in
/// seconds since 1970. Source: Standard Webhooks 1.0.0, spec/standard-webhooks.md, "Signature scheme".
pub(super) fn sign(secret: &Secret, id: &str, timestamp: i64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose()).expect("HMAC takes a key of any length");
    mac.update(id.as_bytes());
    mac.update(format!(".{timestamp}.").as_bytes());
    mac.update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_vectors_come_out() {
        let key = |text: &str| Secret::new(STANDARD.decode(text).unwrap());
        assert_eq!(
            sign(
                &key("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
                "msg_p5jXN8AQM9LWM0D4loKWxJek",
                1_614_265_330,
                br#"{"test": 2432232314}"#
            ),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
        assert_eq!(
            sign(
                &key("C2FVsBQIhrscChlQIMV+b5sSYspob7oD"),
                "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
                1_649_367_553,
                br#"{"email":"test@example.com","username":"test_user"}"#
            ),
            "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw="
        );
    }
}
