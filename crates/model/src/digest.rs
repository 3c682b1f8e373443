//! Digest: the SHA-256 of canonical JSON, which identifies what was judged, accepted or run.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::canonical;

/// A SHA-256 over canonical JSON, written `sha256:<hex>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// The digest of a value's canonical form.
    pub fn of<T: Serialize>(value: &T) -> Digest {
        Digest::of_bytes(&canonical(value))
    }

    /// The digest of bytes as they are.
    pub fn of_bytes(bytes: &[u8]) -> Digest {
        Digest::written(Sha256::digest(bytes).as_slice())
    }

    /// The digest of several parts in order. Each part's length precedes it, so no two different
    /// lists have the same bytes.
    pub fn of_parts(parts: &[&[u8]]) -> Digest {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Digest::written(hash.finalize().as_slice())
    }

    fn written(hash: &[u8]) -> Digest {
        let mut text = String::with_capacity(71);
        text.push_str("sha256:");
        push_hex(&mut text, hash);
        Digest(text)
    }

    /// Parses `sha256:<hex>`; `None` for any other form.
    pub fn parse(text: &str) -> Option<Digest> {
        let hex = text.strip_prefix("sha256:")?;
        let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (hex.len() == 64 && hex.bytes().all(lower)).then(|| Digest(text.to_owned()))
    }

    /// The first half of the hash, as collision-resistant as a UUID; `None` where the text is no
    /// hash.
    pub fn half(&self) -> Option<u128> {
        let hex = self.0.strip_prefix("sha256:")?.get(..32)?;
        u128::from_str_radix(hex, 16).ok()
    }

    /// The digest as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Appends bytes in hexadecimal.
pub(crate) fn push_hex(text: &mut String, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let letter = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
    let mut written = std::mem::take(text).into_bytes();
    written.extend(bytes.iter().flat_map(|byte| [letter(byte >> 4), letter(byte & 15)]));
    *text = String::from_utf8(written).unwrap_or_default();
}

impl From<&str> for Digest {
    fn from(text: &str) -> Self {
        Digest(text.to_owned())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn digest_ignores_key_order_and_number_spelling() {
        assert_eq!(
            Digest::of(&json!({"b": 1.0, "a": [true, null]})),
            Digest::of(&json!({"a": [true, null], "b": 1}))
        );
    }

    #[test]
    fn parts_are_told_apart() {
        let digests =
            [&[b"ab".as_slice(), b"c"][..], &[b"a", b"bc"], &[b"abc"]].map(Digest::of_parts);
        assert!(digests[0] != digests[1] && digests[1] != digests[2] && digests[0] != digests[2]);
    }

    #[test]
    fn digest_is_sha_256_of_canonical_text() {
        // `printf '{}' | sha256sum`
        assert_eq!(
            Digest::of(&json!({})).as_str(),
            "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }
}
