//! Test kit: folders to work in, backends to call, and filters that make output reproducible.
//!
//! Owns fixtures and filters; the tests of the house itself stand in `tests/tidy`.
//! Must never be a dependency of anything that ships. Start with [`Folder`].

mod backend;
mod bell;
mod decimal;
mod eventually;
mod filter;
mod folder;
pub mod installed;
pub mod judged;
mod keyring;
mod ordinary;
mod processor;
mod random;
mod served;
pub mod spellings;

pub use backend::{Act, Backend, Keys, ReceivedRequest, Then};
pub use bell::Bell;
pub use decimal::{NumberTexts, decimal};
pub use eventually::eventually;
pub use folder::Folder;
pub use keyring::Keyring;
pub use ordinary::OrdinaryUser;
pub use processor::processor_time;
pub use random::SeededRandom;
pub use served::{ALLOW, READ, Served, WRITE, payments};
