//! Tests of the cli driver, with real programs in the real sandbox.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out, or an answer of another shape, fails the test"
)]

mod crowd;
mod ends;
mod installing;
mod lines;
mod logins;
mod outputs;
#[path = "../support/plans.rs"]
mod plans;
mod promises;
mod refused;
mod stage;
mod telling;
mod walls;
