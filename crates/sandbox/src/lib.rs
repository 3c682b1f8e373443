//! What keeps a driver inside. Today: the addresses that may be reached.
//!
//! Owns the line between a driver and the rest of the machine.
//! Must never know a tool, a policy or a person. Start with [`AddressGuard`].

mod address;
mod ranges;

pub use address::{AddressGuard, CheckedUrl, Forbidden};
