//! Encoded forms of a secret: percent-encoding, hexadecimal and base64, as backends echo it.

use std::fmt::Write as _;

use haft_model::Secret;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_URLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Minimum length in bytes of a form; shorter base64 recurs by chance.
const SHORTEST: usize = 8;

/// Percent-encoded, hexadecimal and base64 forms, at all three offsets within a base64 group.
pub(super) fn all(text: &str) -> Vec<Secret> {
    let (hex, address) = (hexadecimal(text), |byte| format!("%{byte:02X}"));
    let mut forms = vec![percent(text, address), percent(text, |byte| format!("%{byte:02x}"))];
    forms.extend([hex.to_ascii_uppercase(), hex]);
    for alphabet in [STANDARD, FOR_URLS] {
        forms.extend((0..3).map(|before| inside_base64(text.as_bytes(), before, alphabet)));
    }
    forms.dedup();
    forms.retain(|form| form.len() >= SHORTEST && form != text);
    forms.into_iter().map(Secret::new).collect()
}

fn percent(text: &str, write: fn(u8) -> String) -> String {
    let mut written = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                written.push(char::from(byte));
            }
            _ => written.push_str(&write(byte)),
        }
    }
    written
}

fn hexadecimal(text: &str) -> String {
    text.bytes().fold(String::new(), |mut written, byte| {
        let _ = write!(written, "{byte:02x}");
        written
    })
}

/// The base64 digits that depend on the secret alone, if `before` bytes precede it.
fn inside_base64(secret: &[u8], before: usize, alphabet: &[u8; 64]) -> String {
    let bits: Vec<bool> = secret
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |place| byte >> place & 1 == 1))
        .collect();
    // The first digits share bits with the preceding bytes, so they are left out.
    let shared = (6 - before * 8 % 6) % 6;
    let own = bits.get(shared..).unwrap_or_default();
    let letters = own.chunks_exact(6).map(|six| {
        let number = six.iter().fold(0, |number, bit| number << 1 | usize::from(*bit));
        alphabet.get(number).copied().map_or('=', char::from)
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_in_every_alphabet_and_place() {
        let texts: Vec<String> =
            all("open/sesame?").iter().map(|form| form.expose().to_owned()).collect();
        let written = [
            "open%2Fsesame%3F",         // in an address
            "open%2fsesame%3f",         // in one that was written otherwise
            "6f70656e2f736573616d653f", // in hexadecimal
            "b3Blbi9zZXNhbWU/",         // base64 of it alone
            "Om9wZW4vc2VzYW1lPw==",     // base64 of `:open/sesame?`
            "dTpvcGVuL3Nlc2FtZT8=",     // base64 of `u:open/sesame?`
            "b3Blbi9zZXNhbWU_",         // the same for addresses
        ];
        for text in written {
            assert!(texts.iter().any(|form| text.contains(form.as_str())), "{text}: {texts:?}");
        }
    }

    #[test]
    fn a_short_form_is_left_out() {
        assert_eq!(all("abcd"), [Secret::new("61626364".into())]);
    }
}
