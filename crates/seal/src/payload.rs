//! Payload encryption: seals immutable bytes under their digest, so that a copy of the folder
//! without its key reveals nothing.

use std::io;
use std::path::Path;

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce};
use haft_model::Digest;

use crate::keys::{self, Key};

/// Seals immutable bytes by their digest, and opens them.
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
    /// The seal of a key file; creates the file if it is missing.
    pub fn load_or_make(key: &Path) -> io::Result<Seal> {
        keys::load_or_make(key).map(Seal::new)
    }

    /// The seal of an existing key file.
    pub fn load(key: &Path) -> io::Result<Seal> {
        keys::load(key).map(Seal::new)
    }

    fn new(key: Key) -> Seal {
        Seal { cipher: ChaCha20Poly1305::new(&key.into()), key }
    }

    /// Seals bytes under their digest; `None` if there are too many of them.
    pub fn close(&self, digest: &Digest, bytes: &[u8]) -> Option<Vec<u8>> {
        let payload = Payload { msg: bytes, aad: digest.as_str().as_bytes() };
        self.cipher.encrypt(&self.nonce(digest), payload).ok()
    }

    /// Opens bytes that were sealed under a digest; `None` if they were not.
    pub fn open(&self, digest: &Digest, sealed: &[u8]) -> Option<Vec<u8>> {
        let payload = Payload { msg: sealed, aad: digest.as_str().as_bytes() };
        self.cipher.decrypt(&self.nonce(digest), payload).ok()
    }

    /// Nonce: derived from the digest, and a digest belongs to one text, so the same nonce is only
    /// ever used for the same text.
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
