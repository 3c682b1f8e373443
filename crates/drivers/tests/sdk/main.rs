//! Tests of the sdk driver, with local packages for both runtimes.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out, or an answer of another shape, fails the test"
)]

mod calls;
mod endings;
mod failures;
#[path = "../support/guards.rs"]
mod guards;
mod judged;
mod packages;
#[path = "../support/plans.rs"]
mod plans;
mod promises;
mod reaching;
mod secrets;
mod stage;
