//! The one window through which edges look at what was recorded.

use std::sync::Arc;
use std::time::Duration;

use haft_ledger::{LedgerEntry, Run, RunFilter, Store, StoreHealth};
use haft_model::{Actor, Code, Digest, Envelope, Event, Fact, InvocationId, Stop};

use crate::Runtime;

/// Reads what was recorded, and changes nothing.
#[derive(Clone)]
pub struct Reader {
    store: Arc<dyn Store>,
}

impl Runtime {
    /// A window on what was recorded.
    pub fn reader(&self) -> Reader {
        Reader { store: self.store.clone() }
    }
}

impl Reader {
    /// A window on a store.
    pub fn new(store: Arc<dyn Store>) -> Reader {
        Reader { store }
    }

    /// Whether what happens can be recorded.
    pub fn health(&self) -> &StoreHealth {
        self.store.health()
    }

    /// Invocations, newest first.
    pub async fn runs(&self, filter: &RunFilter) -> Result<Vec<Run>, Stop> {
        self.store.runs(filter).await.map_err(unreadable)
    }

    /// Waits until everything that was recorded so far can be seen: a read is answered before it is.
    pub async fn caught_up(&self) -> Result<(), Stop> {
        self.store.flush().await.map_err(unreadable)
    }

    /// One invocation, if this actor may see it: its own, or any of the tenant for those who run the
    /// workspace, answer in it or check it.
    pub async fn run(&self, id: &InvocationId, by: &Actor) -> Result<Option<Run>, Stop> {
        let filter = RunFilter {
            id: Some(id.clone()),
            tenant: Some(by.tenant.to_string()),
            actor: (!by.sees_all()).then(|| by.id.to_string()),
            ..RunFilter::default()
        };
        Ok(self.runs(&filter).await?.into_iter().next())
    }

    /// Every entry of one invocation, in order.
    pub async fn story(&self, id: &InvocationId) -> Result<Vec<LedgerEntry>, Stop> {
        let entries = self.store.story(id).await.map_err(unreadable)?;
        match entries.is_empty() {
            false => Ok(entries),
            true => Err(Stop::new(Code::ResourceNotFound, format!("there is no call `{id}`"))
                .help("`haft runs` lists those that there are")),
        }
    }

    /// The entries after one, in order.
    pub async fn entries(&self, after: Option<u64>, most: usize) -> Result<Vec<LedgerEntry>, Stop> {
        self.store.entries(after, most).await.map_err(unreadable)
    }

    /// Waits a while for an entry after this one; gives the last there is.
    pub async fn wait_past(
        &self,
        seq: Option<u64>,
        at_most: Duration,
    ) -> Result<Option<u64>, Stop> {
        self.store.wait_past(seq, at_most).await.map_err(unreadable)
    }

    /// Bytes that an invocation's entries name; none when they are gone.
    pub async fn payload(
        &self,
        id: &InvocationId,
        digest: &Digest,
    ) -> Result<Option<Vec<u8>>, Stop> {
        self.store.payload(id, digest).await.map_err(unreadable)
    }

    /// The envelope of a call that is over; none while it is not, or when its bytes are gone.
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
        // Whoever saw the effect knows better than whoever took the call over.
        let Some(kept) = observed.or(result) else { return Ok(None) };
        let bytes = self.payload(id, &kept.digest).await?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// The facts of an entry.
    pub fn facts(entry: &LedgerEntry) -> Result<Vec<Fact>, Stop> {
        entry.facts().map_err(unreadable)
    }
}

/// What is said where the ledger cannot be read.
fn unreadable(fault: haft_ledger::Error) -> Stop {
    Stop::new(crate::recorder::code(&fault), format!("what was recorded cannot be read: {fault}"))
        .help("`haft audit verify` tells what is wrong with the store")
}
