//! Ledger reader: the only read access of servers and commands to recorded invocations.

use std::sync::Arc;
use std::time::Duration;

use haft_ledger::{LedgerEntry, Run, RunFilter, Store, StoreHealth};
use haft_model::{Actor, Code, Digest, Envelope, Event, Fact, InvocationId, Stop};

use crate::Runtime;

/// Read-only access to the ledger.
#[derive(Clone)]
pub struct Reader {
    store: Arc<dyn Store>,
}

impl Runtime {
    /// A reader of this runtime's ledger.
    pub fn reader(&self) -> Reader {
        Reader { store: self.store.clone() }
    }
}

impl Reader {
    /// A reader of a store.
    pub fn new(store: Arc<dyn Store>) -> Reader {
        Reader { store }
    }

    /// Health of the store: an outage means that no call can be recorded.
    pub fn health(&self) -> &StoreHealth {
        self.store.health()
    }

    /// Invocations that match the filter, newest first.
    pub async fn runs(&self, filter: &RunFilter) -> Result<Vec<Run>, Stop> {
        self.store.runs(filter).await.map_err(unreadable)
    }

    /// Waits until everything recorded so far is readable: a read call returns before its record is
    /// written.
    pub async fn caught_up(&self) -> Result<(), Stop> {
        self.store.flush().await.map_err(unreadable)
    }

    /// One invocation, if the actor may see it: its own, or any of its tenant for admins, approvers
    /// and auditors.
    pub async fn run(&self, id: &InvocationId, by: &Actor) -> Result<Option<Run>, Stop> {
        let filter = RunFilter {
            id: Some(id.clone()),
            tenant: Some(by.tenant.to_string()),
            actor: (!by.sees_all()).then(|| by.id.to_string()),
            ..RunFilter::default()
        };
        Ok(self.runs(&filter).await?.into_iter().next())
    }

    /// Every ledger entry of one invocation, in order; an error for an unknown id.
    pub async fn story(&self, id: &InvocationId) -> Result<Vec<LedgerEntry>, Stop> {
        let entries = self.store.story(id).await.map_err(unreadable)?;
        match entries.is_empty() {
            false => Ok(entries),
            true => Err(Stop::new(Code::ResourceNotFound, format!("there is no call `{id}`"))
                .help("`haft runs` lists those that there are")),
        }
    }

    /// At most `most` entries after a sequence number, in order (pagination).
    pub async fn entries(&self, after: Option<u64>, most: usize) -> Result<Vec<LedgerEntry>, Stop> {
        self.store.entries(after, most).await.map_err(unreadable)
    }

    /// Waits up to `at_most` for an entry after `seq`; returns the last sequence number.
    pub async fn wait_past(
        &self,
        seq: Option<u64>,
        at_most: Duration,
    ) -> Result<Option<u64>, Stop> {
        self.store.wait_past(seq, at_most).await.map_err(unreadable)
    }

    /// Payload that an invocation's entries refer to; `None` after it was pruned.
    pub async fn payload(
        &self,
        id: &InvocationId,
        digest: &Digest,
    ) -> Result<Option<Vec<u8>>, Stop> {
        self.store.payload(id, digest).await.map_err(unreadable)
    }

    /// Result envelope of a finished call; `None` while it runs, or after its payload was pruned.
    pub async fn result(&self, id: &InvocationId) -> Result<Option<Envelope>, Stop> {
        let (mut result, mut observed) = (None, None);
        for entry in &self.story(id).await? {
            for fact in Reader::facts(entry)? {
                match fact.event {
                    Event::ResultCreated(created) => result = Some(created.result),
                    Event::EffectObserved(seen) => observed = Some(seen.result),
                    _ => {}
                }
            }
        }
        // The process that observed the effect knows more than the one that recovered the call.
        let Some(kept) = observed.or(result) else { return Ok(None) };
        let bytes = self.payload(id, &kept.digest).await?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Decodes the facts of an entry.
    pub fn facts(entry: &LedgerEntry) -> Result<Vec<Fact>, Stop> {
        entry.facts().map_err(unreadable)
    }
}

/// Refusal for an unreadable ledger.
fn unreadable(fault: haft_ledger::Error) -> Stop {
    Stop::new(crate::recorder::code(&fault), format!("what was recorded cannot be read: {fault}"))
        .help("`haft audit verify` tells what is wrong with the store")
}
