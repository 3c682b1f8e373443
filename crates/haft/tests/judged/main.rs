//! Rule enforcement tests: rules on addresses, paths and commands deny exactly what a driver would
//! really reach.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a case that cannot be laid out fails the test")]

#[path = "../support/accepted.rs"]
mod accepted;
mod fuzzed;
mod moment;
mod stage;
mod table;
