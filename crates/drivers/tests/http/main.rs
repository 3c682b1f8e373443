//! Tests of the http driver, with a local backend.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out, or an answer of another shape, fails the test"
)]

mod answers;
mod bodies;
mod connections;
mod losses;
mod pacing;
mod paging;
#[path = "../support/plans.rs"]
mod plans;
mod promises;
mod reaching;
mod requests;
mod secrets;
mod stage;
mod streams;
mod unsupported;
