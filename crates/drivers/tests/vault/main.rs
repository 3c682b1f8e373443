//! Tests of the vault: who may open which secret, whose value it is, and what cannot be opened.

#![expect(
    clippy::unwrap_used,
    reason = "a case that cannot be laid out, or an answer of another shape, fails the test"
)]

mod keyring;
mod places;
#[allow(dead_code, reason = "the permits are for other tests")]
#[path = "../support/plans.rs"]
mod plans;
mod stage;
mod strongbox;
mod tokens;
mod who;
