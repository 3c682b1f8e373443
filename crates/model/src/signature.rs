//! HMAC-SHA256: proves to two parties with a shared secret that a message is the other's.

use hmac::digest::Key;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::digest::push_hex;

/// An HMAC-SHA256 (RFC 2104), written as hex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature(String);

impl Signature {
    /// The signature of a message under a secret.
    pub fn of(secret: &[u8], message: &[u8]) -> Signature {
        let mut text = String::with_capacity(64);
        push_hex(&mut text, &keyed(secret, message).finalize().into_bytes());
        Signature(text)
    }

    /// Verifies in constant time that this is the signature of a message under a secret.
    pub fn is_of(&self, secret: &[u8], message: &[u8]) -> bool {
        bytes(&self.0).is_some_and(|bytes| keyed(secret, message).verify_slice(&bytes).is_ok())
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Signature {
    fn from(text: &str) -> Self {
        Signature(text.to_owned())
    }
}

fn keyed(secret: &[u8], message: &[u8]) -> Hmac<Sha256> {
    let mut key = Key::<Hmac<Sha256>>::default();
    // RFC 2104: a key longer than the hash's block is hashed first.
    let hashed = (secret.len() > key.len()).then(|| Sha256::digest(secret));
    let secret = hashed.as_ref().map_or(secret, |hashed| hashed.as_slice());
    key.iter_mut().zip(secret).for_each(|(place, byte)| *place = *byte);
    let mut keyed = Hmac::<Sha256>::new(&key);
    keyed.update(message);
    keyed
}

/// Decodes hex; `None` where it is malformed.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|letter| letter.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    digits
        .chunks(2)
        .map(|pair| u8::try_from(pair.iter().fold(0, |value, digit| value * 16 + digit)).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_published_cases() {
        // RFC 4231, cases 1, 2, 3 and 6.
        let cases: [(&[u8], &[u8], &str); 4] = [
            (
                &[0x0b; 20],
                b"Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 20],
                &[0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (secret, message, published) in cases {
            assert_eq!(Signature::of(secret, message).as_str(), published);
            assert!(Signature::from(published).is_of(secret, message));
        }
    }

    #[test]
    fn what_differs_in_anything_is_no_signature() {
        let right = Signature::of(b"secret", b"message");
        assert!(right.is_of(b"secret", b"message"));
        assert!(!right.is_of(b"Secret", b"message"));
        assert!(!right.is_of(b"secret", b"message."));
        let (whole, odd) = (right.as_str(), right.as_str().get(..63).unwrap_or_default());
        for wrong in ["", "zz", "é", odd, &whole[..62], &format!("{whole}00")] {
            assert!(!Signature::from(wrong).is_of(b"secret", b"message"), "{wrong}");
        }
    }
}
