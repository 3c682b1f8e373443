//! Ledger: an append-only log with a hash chain; questions, payloads and leases; one port, several
//! stores.
//!
//! Owns what is remembered and in which order.
//! Must never judge: it keeps what it is given and refuses only what an earlier fact forbids.
//! Start with [`Store`].

mod chain;
mod draft;
mod error;
mod health;
mod invocation_history;
mod line;
mod memo;
mod memory;
mod projections;
mod question;
mod received;
#[cfg(feature = "sabotage")]
pub mod sabotage;
mod signed_checkpoint;
mod sqlite;
mod store;
mod token;
mod verify;

pub use draft::{Blob, Draft, Guard, LeaseClaim};
pub use error::Error;
pub use health::{Outage, StoreHealth};
pub use invocation_history::{
    Attempt, CallOutcome, Cancel, Inputs, Judgement, PhaseSpan, Story, Transition, Undoing, events,
};
pub use memo::{LogHead, StoreMemo};
pub use memory::MemoryStore;
pub use received::{ForeignRecord, receive};
pub use sqlite::{SqliteOptions, SqliteStore, rebuild_store};
pub use store::{
    BoxFuture, Disclosure, Fence, IntentRecord, Lease, LedgerEntry, OpenUndoing, QuestionFilter,
    QuestionRecord, Receipt, Run, RunFilter, Store, Use, UseFilter, Wait,
};
pub use token::{token_hash, token_text};
pub use verify::{
    Finding, Pins, Verification, export, verify_folder, verify_folder_against, verify_store,
    verify_store_against,
};
