//! What tests share: folders to work in, and output without what differs from run to run.
//!
//! Owns fixtures and filters; the tests of the house itself stand in `tests/tidy`.
//! Must never be a dependency of anything that ships. Start with [`Folder`].

mod filter;
mod folder;

pub use folder::Folder;
