//! Bearer token text: generation, and the hash that it is looked up by.

use std::io;

use haft_model::{Digest, Secret};
use haft_seal::{generate, hex};

/// Prefix of every token, for people and secret scanners.
const PREFIX: &str = "haft_";

/// A new unguessable token: 256 random bits.
pub fn token_text() -> io::Result<Secret> {
    Ok(Secret::new(format!("{PREFIX}{}", hex(&generate()?))))
}

/// Lookup hash of a token; `None` for a text that is no token of ours. A lookup by hash leaks no
/// timing information about the token.
pub fn token_hash(text: &str) -> Option<Digest> {
    text.starts_with(PREFIX).then(|| Digest::of_bytes(text.as_bytes()))
}
