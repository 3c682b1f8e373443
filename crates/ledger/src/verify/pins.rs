//! What a verifier knows from elsewhere, and a log is held against: a key, ends seen before, a store.

use super::{Finding, Verification};
use crate::{LogHead, StoreMemo};

/// The fewest letters of a fingerprint that mean one key.
const SHORTEST: usize = 16;

/// What a log has to agree with beside itself. Without any of it, whoever can write the files can
/// write another log and sign it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// The fingerprints of the keys that may have signed, whole or their first 16 letters; empty means
    /// any.
    pub keys: Vec<String>,
    /// Ends that were seen before.
    pub heads: Vec<LogHead>,
    /// The identity that the store had.
    pub store: Option<String>,
}

impl Pins {
    /// What a machine remembers of a store.
    pub fn remembered(memo: &StoreMemo) -> Pins {
        Pins {
            store: Some(memo.store.clone()),
            heads: memo.head.iter().cloned().collect(),
            keys: memo.keys.clone(),
        }
    }

    /// Whether a key, given by its fingerprint or its id, is one that may have signed.
    pub(super) fn allows(&self, key: &str) -> bool {
        self.keys
            .iter()
            .map(|pin| pin.to_ascii_lowercase())
            .any(|pin| pin.len() >= SHORTEST && (key.starts_with(&pin) || is_id_of(key, &pin)))
    }

    /// Holds a store against the identity that it had.
    pub(super) fn check_store(&self, store: Option<&str>, found: &mut Verification) {
        if self.store.as_deref().is_some_and(|known| store != Some(known)) {
            let message = "it is not the store that this machine remembers for the workspace";
            found.findings.push(Finding::of_all("store.replaced", message));
        }
    }

    /// Whether an end of the log agrees with one that was seen before, which is the case of one that
    /// was not.
    pub(super) fn agrees(&self, seq: u64, hash: &str) -> bool {
        self.heads.iter().all(|head| head.seq != seq || head.hash == hash)
    }

    /// Reports ends that were seen before and lie behind the end of this log.
    pub(super) fn check_length(&self, next: u64, found: &mut Verification) {
        for head in self.heads.iter().filter(|head| head.seq >= next) {
            let message = format!("entry {} was seen before, and the log ends before it", head.seq);
            found.findings.push(Finding::at("chain.rolled_back", next, message));
        }
    }

    /// Reports keys that signed and are not those that may have.
    pub(super) fn check_keys(&self, found: &mut Verification) {
        if self.keys.is_empty() {
            return;
        }
        let foreign = found.keys.iter().filter(|key| !self.allows(key));
        let foreign: Vec<String> = foreign.cloned().collect();
        for key in foreign {
            let message = format!("`{key}` signed an end of the log, and is not the key expected");
            found.findings.push(Finding::of_all("key.foreign", message));
        }
        if found.keys.is_empty() {
            let message = "no end of the log is signed by the key expected";
            found.findings.push(Finding::of_all("head.missing", message));
        }
    }
}

/// Whether a text is the id of a key: the beginning of its fingerprint.
fn is_id_of(id: &str, fingerprint: &str) -> bool {
    id.len() >= SHORTEST && fingerprint.starts_with(id)
}
