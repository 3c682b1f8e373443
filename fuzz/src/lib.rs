//! Fuzz targets as plain functions: each takes any bytes and panics where a promise breaks.
//!
//! `fuzz/targets` hands them to libFuzzer (`scripts/show fuzz`), `fuzz/tests` runs each over its corpus and
//! over random mutations of good documents. A finding becomes a file of the corpus.

mod json_rpc;
mod ledger;
mod manifest;
mod notation;
mod numbers;
mod plan;
mod rules;
mod sandbox_profile;

pub use json_rpc::json_rpc;
pub use ledger::ledger_recovery;
pub use manifest::manifest;
pub use notation::notation;
pub use numbers::numbers;
pub use rules::rules;
pub use sandbox_profile::sandbox_profile;

/// A fuzz target: any bytes in, a panic where a promise breaks.
pub type Target = fn(&[u8]);

/// Every target under the name of its corpus and of its file in `fuzz/targets/fuzz_targets`.
pub const TARGETS: &[(&str, Target)] = &[
    ("json_rpc", json_rpc),
    ("ledger_recovery", ledger_recovery),
    ("manifest", manifest),
    ("notation", notation),
    ("numbers", numbers),
    ("rules", rules),
    ("sandbox_profile", sandbox_profile),
];

/// The part of the data before the first byte 0, and the part after it.
fn halves(data: &[u8]) -> (&[u8], &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}
