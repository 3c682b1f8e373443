//! Application state: the runtime, and what every wire keeps between requests.

use std::io;
use std::sync::{Arc, PoisonError};

use haft_model::{Actor, Audience, Digest, InvocationId, Stop};
use haft_runtime::{Runtime, World};
use tokio::sync::watch;

use crate::ExportTotals;
use crate::mcp::{Inquiries, Listings, SessionCounts, SharedSessions, SuspendedCalls};
use crate::metrics::MetricTotals;
use crate::rest::{Bulletin, Errands};

/// The message of a refusal for a caller over a wire, worded for a model: one may read it.
pub(crate) fn told(stop: Stop) -> String {
    stop.told_to(Audience::Agent).message
}

/// Audience of an answer over a wire: a person whom a token authenticates, or a model.
pub(crate) fn audience(actor: &Actor) -> Audience {
    if actor.is_person() { Audience::Person } else { Audience::Agent }
}

/// Application state that every wire shares: the runtime, and what wires keep between requests.
pub struct AppState {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) suspended: SuspendedCalls,
    /// Elicitations of tasks that wait for their clients.
    pub(crate) inquiries: Inquiries,
    pub(crate) listings: Listings,
    /// MCP sessions.
    pub(crate) sessions: SharedSessions,
    /// Background calls, whose callers did not wait.
    pub(crate) errands: Errands,
    /// Fan-out of ledger events to subscribers.
    pub(crate) bulletin: Bulletin,
    /// Totals behind `/metrics`.
    pub(crate) tally: MetricTotals,
    /// Span export totals, where telemetry is on.
    pub(crate) exported: Option<watch::Receiver<ExportTotals>>,
}

impl AppState {
    /// The state for a runtime.
    pub fn new(runtime: Arc<Runtime>) -> io::Result<AppState> {
        let (suspended, listings) = (SuspendedCalls::new()?, Listings::default());
        let (errands, tally) = (Errands::default(), MetricTotals::default());
        Ok(AppState {
            runtime,
            suspended,
            inquiries: Inquiries::default(),
            listings,
            sessions: SharedSessions::default(),
            errands,
            bulletin: Bulletin::default(),
            tally,
            exported: None,
        })
    }

    /// Adds the span export totals that `/metrics` reports.
    pub fn telling(self, exported: watch::Receiver<ExportTotals>) -> AppState {
        AppState { exported: Some(exported), ..self }
    }

    /// Output bytes of a call. Its inputs lie beside the log too, may be sensitive, and are never
    /// served.
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

    /// Numbers of MCP sessions.
    pub(crate) fn session_counts(&self) -> SessionCounts {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).counts()
    }

    pub(crate) fn world(&self) -> Arc<World> {
        self.runtime.world()
    }
}
