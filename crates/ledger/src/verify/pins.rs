//! Pins: what a verifier knows from elsewhere: signing keys, earlier heads, a store's identity.

use super::{Finding, Verification};
use crate::{LogHead, StoreMemo};

/// Shortest fingerprint prefix that identifies a key, in characters.
const SHORTEST: usize = 16;

/// What a log has to agree with beside itself. Without pins, an attacker who can write the files
/// can write another log and sign it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// Fingerprints of the keys that may have signed, whole or their first 16 characters; empty
    /// means any.
    pub keys: Vec<String>,
    /// Heads that were seen before.
    pub heads: Vec<LogHead>,
    /// The identity that the store had.
    pub store: Option<String>,
}

impl Pins {
    /// The pins of a machine's memo.
    pub fn remembered(memo: &StoreMemo) -> Pins {
        Pins {
            store: Some(memo.store.clone()),
            heads: memo.head.iter().cloned().collect(),
            keys: memo.keys.clone(),
        }
    }

    /// Whether a key, given by its fingerprint or its id, may have signed.
    pub(super) fn allows(&self, key: &str) -> bool {
        self.keys
            .iter()
            .map(|pin| pin.to_ascii_lowercase())
            .any(|pin| pin.len() >= SHORTEST && (key.starts_with(&pin) || is_id_of(key, &pin)))
    }

    /// Checks a store against the pinned identity.
    pub(super) fn check_store(&self, store: Option<&str>, found: &mut Verification) {
        if self.store.as_deref().is_some_and(|known| store != Some(known)) {
            let message = "it is not the store that this machine remembers for the workspace";
            found.findings.push(Finding::of_all("store.replaced", message));
        }
    }

    /// Whether a head agrees with the pinned one of the same number; true where none is pinned.
    pub(super) fn agrees(&self, seq: u64, hash: &str) -> bool {
        self.heads.iter().all(|head| head.seq != seq || head.hash == hash)
    }

    /// Reports pinned heads that lie past the end of this log.
    pub(super) fn check_length(&self, next: u64, found: &mut Verification) {
        for head in self.heads.iter().filter(|head| head.seq >= next) {
            let message = format!("entry {} was seen before, and the log ends before it", head.seq);
            found.findings.push(Finding::at("chain.rolled_back", next, message));
        }
    }

    /// Reports signing keys that are not pinned.
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

/// Whether a text is a key id: the beginning of a fingerprint.
fn is_id_of(id: &str, fingerprint: &str) -> bool {
    id.len() >= SHORTEST && fingerprint.starts_with(id)
}
