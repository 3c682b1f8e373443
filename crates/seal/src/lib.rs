//! Encryption at rest: key files, atomic file replacement and authenticated encryption.
//!
//! Owns which cipher is used, and how its nonces are chosen.
//! Must never know what it encrypts, nor for whom. Start with [`close`].

mod keys;
mod once;
mod payload;

pub use keys::{Key, generate, hex, load, load_or_make, replace, sync_folder, unhex};
pub use once::{close, open};
pub use payload::Seal;
