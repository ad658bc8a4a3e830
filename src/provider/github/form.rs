//! Form-encoded bodies: takes the bytes, gives one field decoded to bytes; never goes through text, which would change
//! bytes that are not UTF-8.

/// What a form says under one name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormField {
    /// It stands once; decoded.
    Once(Vec<u8>),
    /// It stands more than once.
    Repeated,
    /// It does not stand.
    Missing,
}

/// Looks for the field `name` in an `application/x-www-form-urlencoded` body.
pub(super) fn form_field(form: &[u8], name: &str) -> FormField {
    let mut found = None;
    for pair in form.split(|byte| *byte == b'&') {
        let equals = pair.iter().position(|byte| *byte == b'=');
        let (key, value) = equals.map_or((pair, &b""[..]), |at| (&pair[..at], &pair[at + 1..]));
        // The decoded name is never longer than the encoded one, nor shorter than a third of it.
        if key.len() > 3 * name.len() || decode(key) != name.as_bytes() {
            continue;
        }
        if found.replace(value).is_some() {
            return FormField::Repeated;
        }
    }
    found.map_or(FormField::Missing, |value| FormField::Once(decode(value)))
}

/// Decodes `+` and `%41`. A percent sign without two hex digits stands for itself, as browsers have it.
fn decode(encoded: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(encoded.len());
    let mut at = 0;
    while let Some(&byte) = encoded.get(at) {
        let escaped = if byte == b'%' { hex_pair(encoded, at + 1) } else { None };
        decoded.push(match (byte, escaped) {
            (_, Some(value)) => value,
            (b'+', None) => b' ',
            (other, None) => other,
        });
        at += if escaped.is_some() { 3 } else { 1 };
    }
    decoded
}

fn hex_pair(encoded: &[u8], at: usize) -> Option<u8> {
    let mut value = [0];
    hex::decode_to_slice(encoded.get(at..at + 2)?, &mut value).ok()?;
    Some(value[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_decoded_to_bytes() {
        let form = b"a=1&payload=%7B%22a%22%3A+%22%EB%c3%A9%2B%22%7d&b";
        assert_eq!(form_field(form, "payload"), FormField::Once(b"{\"a\": \"\xeb\xc3\xa9+\"}".to_vec()));
        assert_eq!(form_field(b"pay%6Coad=1%", "payload"), FormField::Once(b"1%".to_vec()));
        assert_eq!(form_field(b"payload=%zz%4", "payload"), FormField::Once(b"%zz%4".to_vec()));
        assert_eq!(form_field(b"payload", "payload"), FormField::Once(Vec::new()));
    }

    #[test]
    fn a_missing_field_and_a_repeated_one_are_told_apart() {
        for form in [&b""[..], b"&&", b"Payload=1", b"payloads=1", b"=payload"] {
            assert_eq!(form_field(form, "payload"), FormField::Missing);
        }
        assert_eq!(form_field(b"payload=1&payload=1", "payload"), FormField::Repeated);
    }
}
