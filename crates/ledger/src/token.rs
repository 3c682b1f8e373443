//! The text of a token, and what it is found by.

use std::io;

use haft_model::{Digest, Secret};
use haft_seal::{generate, hex};

/// What every token begins with, so that people and scanners know one when they see it.
const PREFIX: &str = "haft_";

/// A new text that nobody can guess: 256 random bits.
pub fn token_text() -> io::Result<Secret> {
    Ok(Secret::new(format!("{PREFIX}{}", hex(&generate()?))))
}

/// What a token is found by; none where a text is no token of ours. Looking for a hash tells nobody by
/// the time it takes how much of a token was right.
pub fn token_hash(text: &str) -> Option<Digest> {
    text.starts_with(PREFIX).then(|| Digest::of_bytes(text.as_bytes()))
}
