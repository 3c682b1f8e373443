//! Hash chain verification: walks the chain link by link.

use super::{Finding, Pins, Verification};
use crate::LogHead;
use crate::chain::{GENESIS, hash, unhashed};
use crate::line::EntryLine;
use crate::signed_checkpoint::{Keyring, SignedHead};

/// Most findings: a log that is all wrong needs no list of a million lines.
const MOST: usize = 1000;

/// A chain, as far as it was walked.
#[derive(Debug, Default)]
pub(super) struct ChainWalk {
    pub(super) found: Verification,
    /// The number that the next link has to have.
    next: u64,
    /// Hash of the previous link; `None` where that link cannot be trusted.
    previous: Option<String>,
    time: Option<haft_model::Timestamp>,
    /// Signed checkpoints that the walk has yet to compare.
    claims: Vec<SignedHead>,
    /// The keys that the log named so far.
    named: Vec<String>,
    /// The keys that signed checkpoints before the log named any.
    signers: Vec<String>,
    pins: Pins,
}

impl ChainWalk {
    /// A walk past these checkpoints, checked against pins.
    pub(super) fn new(mut heads: Vec<SignedHead>, ring: &Keyring, pins: &Pins) -> ChainWalk {
        let mut found = Verification::default();
        heads.sort_by_key(|signed| signed.head.seq);
        heads.dedup();
        heads.retain(|signed| {
            let signer = ring.signer(signed);
            let genuine = signer.is_some();
            found.keys.extend(signer.filter(|key| !found.keys.contains(key)));
            if !genuine {
                let message =
                    format!("no published key verifies its signature by {}", signed.head.key);
                found.findings.push(Finding::at("head.unsigned", signed.head.seq, message));
            }
            genuine
        });
        let (previous, pins) = (Some(GENESIS.to_owned()), pins.clone());
        ChainWalk { found, claims: heads, previous, pins, ..ChainWalk::default() }
    }

    /// Adds a finding.
    pub(super) fn report(&mut self, finding: Finding) {
        if self.found.findings.len() < MOST {
            self.found.findings.push(finding);
        }
    }

    /// Checks one line and its stored number; returns its fields if it is genuine.
    pub(super) fn take(&mut self, stored: Option<u64>, line: &[u8]) -> Option<EntryLine> {
        let genuine = std::str::from_utf8(line).ok().and_then(genuine);
        let seq = stored.or(genuine.as_ref().map(|line| line.seq)).unwrap_or(self.next);
        if seq != self.next {
            let message = format!("entry {} is followed by entry {seq}", self.next.wrapping_sub(1));
            let message =
                if self.next == 0 { format!("the first entry is {seq}") } else { message };
            self.report(Finding::at("chain.seq_gap", self.next, message));
            // The hash before a gap cannot be compared with what follows.
            self.previous = None;
        }
        self.next = seq.saturating_add(1);
        self.found.entries += 1;
        let Some(line) = genuine.filter(|line| line.seq == seq) else {
            self.report(Finding::at("chain.tampered", seq, "the entry is not what was written"));
            self.previous = None;
            self.found.head = None;
            return None;
        };
        self.compare(&line);
        Some(line)
    }

    fn compare(&mut self, line: &EntryLine) {
        if self.previous.as_ref().is_some_and(|previous| *previous != line.prev_hash) {
            let message = "the entry before it is not the one it was written after";
            self.report(Finding::at("chain.broken", line.seq, message));
        }
        if self.time.is_some_and(|time| line.ts < time) {
            let message = "it is older than the entry before it";
            self.report(Finding::at("chain.time", line.seq, message));
        }
        if let Some(key) = &line.audit_key {
            self.compare_named(line.seq, key);
        }
        self.compare_signed(line);
        if !self.pins.agrees(line.seq, &line.hash) {
            let message = "another entry was here when the end of the log was seen before";
            self.report(Finding::at("chain.rolled_back", line.seq, message));
        }
        self.time = Some(line.ts);
        self.previous = Some(line.hash.clone());
        self.found.head = Some(line.hash.clone());
        self.found.last = Some(LogHead { seq: line.seq, hash: line.hash.clone() });
    }

    /// Key rotation: the log names one signing key. A second one is a finding unless it is pinned,
    /// because an entry that names the writer's own key would otherwise vouch for its signatures.
    fn compare_named(&mut self, seq: u64, key: &str) {
        let is_known = self.named.iter().any(|named| named == key)
            || self.signers.iter().any(|id| key.starts_with(id));
        let is_first = self.named.is_empty() && self.signers.is_empty();
        if !is_first && !is_known {
            self.report_change(seq, key);
        }
        self.named.push(key.to_owned());
    }

    fn report_change(&mut self, seq: u64, key: &str) {
        if !self.pins.allows(key) {
            let message = format!("from here on `{key}` signs the log, and another key did before");
            self.report(Finding::at("key.changed", seq, message));
        }
    }

    /// Checks a link against the checkpoints that name it.
    fn compare_signed(&mut self, line: &EntryLine) {
        let from = self.claims.partition_point(|signed| signed.head.seq < line.seq);
        let claims = self.claims.get(from..).unwrap_or_default().iter();
        let claims: Vec<SignedHead> =
            claims.take_while(|signed| signed.head.seq == line.seq).cloned().collect();
        for SignedHead { head, .. } in claims {
            if head.hash != line.hash {
                let message = "another entry was here when the end of the log was signed";
                self.report(Finding::at("chain.tampered", line.seq, message));
            }
            if self.named.is_empty() {
                if !self.signers.is_empty() && !self.signers.contains(&head.key) {
                    self.report_change(line.seq, &head.key);
                }
                self.signers.push(head.key);
                continue;
            }
            if !self.named.iter().any(|key| key.starts_with(&head.key)) {
                let message = format!("`{}` signed it, and the log names another key", head.key);
                self.report(Finding::at("head.resigned", line.seq, message));
            }
        }
    }

    /// Checks the end of the walk against the last checkpoint.
    pub(super) fn end(&mut self) {
        let last = self.claims.last().map(|signed| signed.head.seq);
        match last {
            Some(last) if last >= self.next => {
                let message = format!("entries {} to {last} were cut off", self.next);
                self.report(Finding::at("chain.truncated", self.next, message));
            }
            None if self.next > 0 => {
                let message = "no signed end of the log is there, so a cut would not show";
                self.report(Finding::of_all("head.missing", message));
            }
            Some(_) | None => {}
        }
        self.pins.check_length(self.next, &mut self.found);
        self.pins.check_keys(&mut self.found);
        self.found.findings.sort_by_key(|finding| finding.seq);
    }
}

/// The fields of a line, if its hash matches its bytes.
fn genuine(line: &str) -> Option<EntryLine> {
    let (rest, stated) = unhashed(line)?;
    (hash(&rest) == stated).then(|| EntryLine::parse(line).ok())?
}
