//! Append-only facts with a hash chain; questions, payloads and leases; one port, several stores.
//!
//! Owns what is remembered and in which order.
//! Must never judge: it keeps what it is given and refuses only what an earlier fact forbids.
//! Start with [`Store`].

mod chain;
mod derived;
mod draft;
mod error;
mod line;
mod memory;
mod store;

pub use draft::{Blob, Draft, Guard};
pub use error::Error;
pub use memory::MemoryStore;
pub use store::{
    BoxFuture, Entry, Fence, QuestionFilter, QuestionRecord, Receipt, Run, RunFilter, Store,
    UsageFilter, Wait,
};
