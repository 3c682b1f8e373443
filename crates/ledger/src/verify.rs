//! Offline verification: checks a log from files alone, and trusts nothing that is not in them.

mod chain;
mod folder;
mod pins;
mod store;

#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::LogHead;

pub use folder::{export, verify_folder, verify_folder_against};
pub use pins::Pins;
pub use store::{verify_store, verify_store_against};

/// Result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Number of entries checked.
    pub entries: u64,
    /// The hash of the last one.
    pub head: Option<String>,
    /// Number and hash of the last one, to pin in a later verification.
    pub last: Option<LogHead>,
    /// The fingerprints of the keys that signed checkpoints.
    pub keys: Vec<String>,
    /// Findings in log order; empty means that the log is sound.
    pub findings: Vec<Finding>,
}

impl Verification {
    /// Whether there are no findings.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// One defect of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Kind of finding: `chain.tampered`, `chain.seq_gap`, `chain.broken`, `chain.time`,
    /// `chain.truncated`, `head.missing`, `head.unsigned`, `payload.changed`, `payload.missing`,
    /// `payload.stray`, `lists.differ`, `store.corrupt`, `head.resigned`, `key.changed` where the
    /// log names a second key that is not pinned, and with pins: `chain.rolled_back`, `key.foreign`
    /// or `store.replaced`.
    pub code: &'static str,
    /// Sequence number of the entry, where it is about one.
    pub seq: Option<u64>,
    /// The defect, in one line.
    pub message: String,
}

impl Finding {
    fn at(code: &'static str, seq: u64, message: impl Into<String>) -> Finding {
        Finding { code, seq: Some(seq), message: message.into() }
    }

    fn of_all(code: &'static str, message: impl Into<String>) -> Finding {
        Finding { code, seq: None, message: message.into() }
    }
}
