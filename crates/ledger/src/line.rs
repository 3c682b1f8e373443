//! Entry parser: reads a stored line back into its fields.

use haft_model::{Digest, Fact, InvocationId, Timestamp};
use serde::Deserialize;

use crate::{Error, LedgerEntry};

/// The fields of a line.
#[derive(Clone, Debug)]
pub(crate) struct EntryLine {
    pub(crate) seq: u64,
    pub(crate) ts: Timestamp,
    pub(crate) hash: String,
    pub(crate) prev_hash: String,
    pub(crate) subject: Option<String>,
    pub(crate) invocation: Option<InvocationId>,
    pub(crate) tenant: Option<String>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) kept: Vec<Digest>,
    pub(crate) forgot: Option<Digest>,
    /// The key that signs the log from here on.
    pub(crate) audit_key: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EntryText {
    seq: u64,
    ts: Timestamp,
    hash: String,
    prev_hash: String,
    subject: Subject,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Subject {
    #[serde(rename = "ref")]
    reference: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    haft: House,
}

#[derive(Deserialize)]
struct House {
    audit_key: Option<String>,
    facts: Vec<Fact>,
    forgot: Option<Digest>,
    invocation: Option<InvocationId>,
    #[serde(default)]
    kept: Vec<Digest>,
    tenant: Option<String>,
}

impl LedgerEntry {
    /// The facts of an entry, read from its line.
    pub fn facts(&self) -> Result<Vec<Fact>, Error> {
        Ok(EntryLine::read(self)?.facts)
    }
}

impl EntryLine {
    /// Reads an entry.
    pub(crate) fn read(entry: &LedgerEntry) -> Result<EntryLine, Error> {
        EntryLine::parse(&entry.line)
            .map_err(|fault| Error::Damaged { seq: entry.seq, what: fault.to_string() })
    }

    /// Reads a line.
    pub(crate) fn parse(line: &str) -> Result<EntryLine, serde_json::Error> {
        let EntryText { seq, ts, hash, prev_hash, subject, metadata } = serde_json::from_str(line)?;
        let House { audit_key, facts, forgot, invocation, kept, tenant } = metadata.haft;
        Ok(EntryLine {
            seq,
            ts,
            hash,
            prev_hash,
            subject: subject.reference,
            invocation,
            tenant,
            facts,
            kept,
            forgot,
            audit_key,
        })
    }
}

/// The facts in the metadata of a line.
pub(crate) fn facts(metadata: &str) -> Result<Vec<Fact>, serde_json::Error> {
    serde_json::from_str(metadata).map(|metadata: Metadata| metadata.haft.facts)
}
