//! Authenticated encryption of bytes that change: XChaCha20-Poly1305 under a random nonce.

use std::io;

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};

use crate::Key;

/// Length of the nonce that precedes the ciphertext, in bytes; random ones never collide.
const NUMBER: usize = 24;

/// Encrypts bytes with XChaCha20-Poly1305. To open them, the caller has to name the same `about`
/// (associated data).
pub fn close(key: &Key, about: &[u8], bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut number = [0; NUMBER];
    getrandom::fill(&mut number).map_err(io::Error::other)?;
    let payload = Payload { msg: bytes, aad: about };
    let closed = cipher(key).encrypt(&XNonce::from(number), payload);
    let closed = closed.map_err(|_| io::Error::other("there is too much to close"))?;
    Ok([number.as_slice(), &closed].concat())
}

/// Decrypts with the same key and `about`; `None` if either differs or the bytes were changed.
pub fn open(key: &Key, about: &[u8], closed: &[u8]) -> Option<Vec<u8>> {
    let (number, closed) = closed.split_first_chunk::<NUMBER>()?;
    let payload = Payload { msg: closed, aad: about };
    cipher(key).decrypt(&XNonce::from(*number), payload).ok()
}

fn cipher(key: &Key) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&(*key).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_text_opens_only_unaltered_with_key_and_context() {
        let (key, other) = ([7; 32], [8; 32]);
        let closed = close(&key, b"notes", b"text").unwrap();
        assert_eq!(open(&key, b"notes", &closed).as_deref(), Some(b"text".as_slice()));
        assert_eq!(open(&other, b"notes", &closed), None);
        assert_eq!(open(&key, b"letters", &closed), None);
        for at in 0..closed.len() {
            let mut changed = closed.clone();
            changed[at] ^= 1;
            assert_eq!(open(&key, b"notes", &changed), None, "byte {at}");
            assert_eq!(open(&key, b"notes", &closed[..at]), None, "cut at {at}");
        }
        assert_ne!(close(&key, b"notes", b"text").unwrap(), closed, "a number is used once");
    }
}
