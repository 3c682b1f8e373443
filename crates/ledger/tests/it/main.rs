//! Ledger tests: the conformance suite of every store, and injected faults of the disk.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be laid out fails the test"
)]

mod conformance;
#[cfg(target_os = "linux")]
mod faults;
mod sample;
