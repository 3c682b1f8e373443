//! What every wire stands at.

use std::io;
use std::sync::{Arc, PoisonError};

use haft_model::{Actor, Audience, Digest, InvocationId, Stop};
use haft_runtime::{Runtime, World};
use tokio::sync::watch;

use crate::ExportTotals;
use crate::mcp::{Inquiries, Listings, SessionCounts, SharedLives, SuspendedCalls};
use crate::metrics::MetricTotals;
use crate::rest::{Bulletin, Errands};

/// What a caller over a wire is told of a refusal. Whoever it is, a model may read it.
pub(crate) fn told(stop: Stop) -> String {
    stop.told_to(Audience::Agent).message
}

/// Who reads an answer over a wire: a person whom a token names, or a model.
pub(crate) fn audience(actor: &Actor) -> Audience {
    if actor.is_person() { Audience::Person } else { Audience::Agent }
}

/// What every wire stands at: the runtime, and what wires keep between requests.
pub struct Desk {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) suspended: SuspendedCalls,
    /// What tasks want to know from their clients.
    pub(crate) inquiries: Inquiries,
    pub(crate) listings: Listings,
    /// Who is in which session of MCP.
    pub(crate) sessions: SharedLives,
    /// Calls whose callers did not wait for them.
    pub(crate) errands: Errands,
    /// Those who follow what is recorded.
    pub(crate) bulletin: Bulletin,
    /// What `/metrics` counted.
    pub(crate) tally: MetricTotals,
    /// What became of spans, where they are sent.
    pub(crate) exported: Option<watch::Receiver<ExportTotals>>,
}

impl Desk {
    /// A desk before a runtime.
    pub fn new(runtime: Arc<Runtime>) -> io::Result<Desk> {
        let (suspended, listings) = (SuspendedCalls::new()?, Listings::default());
        let (errands, tally) = (Errands::default(), MetricTotals::default());
        Ok(Desk {
            runtime,
            suspended,
            inquiries: Inquiries::default(),
            listings,
            sessions: SharedLives::default(),
            errands,
            bulletin: Bulletin::default(),
            tally,
            exported: None,
        })
    }

    /// The same where spans are sent, which `/metrics` counts.
    pub fn telling(self, exported: watch::Receiver<ExportTotals>) -> Desk {
        Desk { exported: Some(exported), ..self }
    }

    /// Bytes that came out of a call. Its inputs lie beside the log too, may be sensitive, and are
    /// given to nobody.
    pub(crate) async fn output(
        &self,
        id: &InvocationId,
        digest: &Digest,
    ) -> Result<Option<Vec<u8>>, Stop> {
        let told = self.runtime.tell(id).await?;
        let mut kept = told.story.persistence.iter().filter_map(|(_, kept)| kept.payload.as_ref());
        match kept.find(|kept| kept.digest == *digest) {
            Some(kept) => self.runtime.reader().payload(id, &kept.digest).await,
            None => Ok(None),
        }
    }

    /// What there is of sessions of MCP.
    pub(crate) fn session_counts(&self) -> SessionCounts {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).counts()
    }

    pub(crate) fn world(&self) -> Arc<World> {
        self.runtime.world()
    }
}
