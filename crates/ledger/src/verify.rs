//! Checking a log offline, from files alone: nothing is believed that is not written in them.

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

/// What a check of a log found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// How many entries were looked at.
    pub entries: u64,
    /// The hash of the last one.
    pub head: Option<String>,
    /// The last one by its number and hash, as a later check can be held to.
    pub last: Option<LogHead>,
    /// The fingerprints of the keys that signed ends of the log.
    pub keys: Vec<String>,
    /// What is wrong, in the order of the log; empty means that all is well.
    pub findings: Vec<Finding>,
}

impl Verification {
    /// Whether all is well.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// One thing that is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind of thing: `chain.tampered`, `chain.seq_gap`, `chain.broken`, `chain.time`,
    /// `chain.truncated`, `head.missing`, `head.unsigned`, `payload.changed`, `payload.missing`,
    /// `payload.stray`, `lists.differ`, `store.corrupt`, `head.resigned`, `key.changed` where
    /// the log names a second key that is not pinned, and where it is held against something:
    /// `chain.rolled_back`, `key.foreign` or `store.replaced`.
    pub code: &'static str,
    /// At which entry.
    pub seq: Option<u64>,
    /// What, in one line.
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
