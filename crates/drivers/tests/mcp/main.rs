//! Tests of the mcp driver, with a confined local server.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out, or an answer of another shape, fails the test"
)]

mod answers;
mod elsewhere;
mod eras;
#[path = "../support/guards.rs"]
mod guards;
mod judged;
mod keeping;
mod login;
mod losses;
#[path = "../support/office.rs"]
mod office;
#[path = "../support/plans.rs"]
mod plans;
mod promises;
mod refusals;
mod remote;
mod secrets;
mod stage;
mod tasks;
mod trust;
