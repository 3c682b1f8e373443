//! Keys that lie in files, files that are written whole, and bytes that are closed with a key.
//!
//! Owns which cipher is used, and how its numbers are chosen.
//! Must never know what it closes, nor for whom. Start with [`close`].

mod keys;
mod once;
mod payload;

pub use keys::{Key, generate, hex, load, load_or_make, replace, sync_folder, unhex};
pub use once::{close, open};
pub use payload::Seal;
