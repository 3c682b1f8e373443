//! Driver tests: every kind of driver, logins, health checks and the vault, with real backends.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

mod builtin;
mod cli;
#[path = "../support/guards.rs"]
mod guards;
mod health;
mod http;
mod login;
mod mcp;
#[path = "../support/office.rs"]
mod office;
#[path = "../support/plans.rs"]
mod plans;
mod sdk;
mod vault;
