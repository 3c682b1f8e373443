//! MCP session store for clients of 2025: ownership, limits and suspension of idle sessions.
//!
//! A session belongs to the actor and tenant that opened it. An idle one is suspended: its change
//! feed and its streams end and a small record stays; the next request resumes it.

mod event_log;
mod live_streams;
mod table;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use haft_driver::Cancel;
use haft_model::Actor;

use super::change_feed::ChangeFeed;
use super::client_session::ClientSession;
use super::listing::LastSeenList;
use crate::AppState;
use crate::listen::SessionLimits;
pub(super) use event_log::LogReader;
pub(super) use live_streams::LiveStreams;
pub(crate) use table::{SessionCounts, SessionTable};
pub(super) use table::{SessionOwner, SessionsFull};

/// How long an idle session is kept.
const KEPT: Duration = Duration::from_secs(30 * 60);

/// Interval of the idle sweep.
const SWEEP: Duration = Duration::from_secs(5);

/// Id of a session: a credential, so that records hold only its hash.
pub(super) type SessionId = Arc<str>;

/// The session table, shared with `/metrics`.
pub(crate) type SharedSessions = Arc<Mutex<SessionTable>>;

/// The sessions of a server.
pub(super) struct Sessions {
    desk: Arc<AppState>,
    limits: SessionLimits,
}

/// A request in a session; while it lives the session is not idle.
pub(super) struct SessionVisit {
    pub(super) session: Arc<ClientSession>,
    pub(super) live: Arc<LiveStreams>,
    id: SessionId,
    table: SharedSessions,
}

impl Drop for SessionVisit {
    fn drop(&mut self) {
        locked(&self.table).leave(&self.id);
    }
}

impl Sessions {
    /// An empty store. A sweep handles idle sessions until the server stops.
    pub(super) fn new(desk: Arc<AppState>, limits: SessionLimits, stop: &Cancel) -> Arc<Sessions> {
        let sessions = Arc::new(Sessions { desk, limits });
        tokio::spawn(sweep(Arc::downgrade(&sessions), limits.rest.min(SWEEP), stop.child_token()));
        sessions
    }

    /// Opens a session: evicts the oldest idle one where the limit is reached.
    pub(super) fn open(
        &self,
        actor: &Actor,
        session: ClientSession,
    ) -> Result<SessionId, SessionRefusal> {
        self.sweep_idle();
        let id = new_id().map_err(|_| SessionRefusal::NoRandomness)?;
        let opened = self.table().open(&id, SessionOwner::of(actor), session, &self.limits);
        opened.map(|()| id).map_err(SessionRefusal::Full)
    }

    /// Enters an actor's session with a request, and resumes it where it is suspended; `None` where
    /// the actor has no such session.
    pub(super) fn enter(&self, id: &str, actor: &Arc<Actor>) -> Option<SessionVisit> {
        let id = SessionId::from(id);
        let (session, live) = self.table().enter(&id, &SessionOwner::of(actor))?;
        let visit = SessionVisit { session, live, id, table: self.desk.sessions.clone() };
        self.feed(&visit, actor);
        Some(visit)
    }

    /// Sends changes to a session's client from its `initialized` on, until the session ends or is
    /// suspended.
    pub(super) fn feed(&self, visit: &SessionVisit, actor: &Arc<Actor>) {
        if !visit.session.is_ready() || !visit.live.begin_feed() {
            return;
        }
        let scope = crate::session::transport_scope(&visit.id);
        let seen = LastSeenList::new(&self.desk, actor.clone(), Some(scope));
        let mut feed = ChangeFeed::new(&self.desk, seen);
        let (session, live) = (visit.session.clone(), visit.live.clone());
        tokio::spawn(async move {
            loop {
                let told = tokio::select! {
                    told = feed.next_for(&session) => told,
                    () = live.over.cancelled() => None,
                };
                let Some(told) = told else { break };
                live.standalone.push(&rmcp::model::ServerJsonRpcMessage::notification(told));
            }
        });
    }

    /// Ends a session by its client's request; returns whether the actor has it.
    pub(super) fn end(&self, id: &str, actor: &Actor) -> bool {
        self.table().end(&SessionId::from(id), &SessionOwner::of(actor))
    }

    /// Ends sessions past their lifetime, and suspends those that are idle or too many.
    fn sweep_idle(&self) {
        let now = Instant::now();
        let mut table = self.table();
        table.end_idle_since(now.checked_sub(KEPT));
        table.suspend_idle_since(now.checked_sub(self.limits.rest), self.limits.awake);
    }

    fn table(&self) -> MutexGuard<'_, SessionTable> {
        locked(&self.desk.sessions)
    }
}

/// Why a session is not opened.
pub(super) enum SessionRefusal {
    Full(SessionsFull),
    /// The system gives no random bytes for an id.
    NoRandomness,
}

async fn sweep(sessions: Weak<Sessions>, every: Duration, stop: Cancel) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
        let Some(sessions) = sessions.upgrade() else { return };
        sessions.sweep_idle();
    }
}

fn locked(table: &Mutex<SessionTable>) -> MutexGuard<'_, SessionTable> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An id that cannot be guessed.
fn new_id() -> std::io::Result<SessionId> {
    Ok(URL_SAFE_NO_PAD.encode(haft_seal::generate()?.as_ref()).into())
}
