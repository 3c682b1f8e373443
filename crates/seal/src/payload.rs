//! Closing bytes that never change under their digest, so that a copy of the folder without its key says nothing.

use std::io;
use std::path::Path;

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce};
use haft_model::Digest;

use crate::keys::{self, Key};

/// Seals bytes that never change, by their digest, and opens them.
pub struct Seal {
    cipher: ChaCha20Poly1305,
    key: Key,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

impl Seal {
    /// The seal of a key file, which is made if there is none.
    pub fn load_or_make(key: &Path) -> io::Result<Seal> {
        keys::load_or_make(key).map(Seal::new)
    }

    /// The seal of a key file that is there.
    pub fn load(key: &Path) -> io::Result<Seal> {
        keys::load(key).map(Seal::new)
    }

    fn new(key: Key) -> Seal {
        Seal { cipher: ChaCha20Poly1305::new(&key.into()), key }
    }

    /// Seals bytes under their digest; none if there are too many of them.
    pub fn close(&self, digest: &Digest, bytes: &[u8]) -> Option<Vec<u8>> {
        let payload = Payload { msg: bytes, aad: digest.as_str().as_bytes() };
        self.cipher.encrypt(&self.nonce(digest), payload).ok()
    }

    /// Opens what was sealed under a digest; none if it was not.
    pub fn open(&self, digest: &Digest, sealed: &[u8]) -> Option<Vec<u8>> {
        let payload = Payload { msg: sealed, aad: digest.as_str().as_bytes() };
        self.cipher.decrypt(&self.nonce(digest), payload).ok()
    }

    /// A number used once: it belongs to the digest, and a digest to one text, so that the same
    /// number is only ever used for the same text.
    fn nonce(&self, digest: &Digest) -> Nonce {
        let parts = [b"haft seal".as_slice(), &self.key, digest.as_str().as_bytes()];
        let hash = Digest::of_parts(&parts);
        let bytes = keys::unhex(hash.as_str().trim_start_matches("sha256:")).unwrap_or_default();
        let mut nonce = [0; 12];
        for (to, from) in nonce.iter_mut().zip(bytes) {
            *to = from;
        }
        nonce.into()
    }
}
