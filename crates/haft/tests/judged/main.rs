//! What is judged is what runs: rules on addresses, paths and commands, from a folder through a host to
//! what a driver really reaches.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a case that cannot be laid out fails the test")]

#[path = "../support/accepted.rs"]
mod accepted;
mod fuzzed;
mod moment;
mod stage;
mod table;
