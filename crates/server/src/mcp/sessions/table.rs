//! Session table: the owner and state of each MCP session, within limits.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use haft_model::{Actor, ActorId};

use super::{LiveStreams, SessionId};
use crate::listen::SessionLimits;
use crate::mcp::client_session::ClientSession;

/// Largest record of a suspended session, in bytes. A client that says more has to open another
/// session once it was idle.
const LARGEST_RECORD: usize = 3 * 1024;

/// Owner of a session: actor and tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mcp) struct SessionOwner {
    actor: ActorId,
    tenant: Arc<str>,
}

impl SessionOwner {
    pub(super) fn of(actor: &Actor) -> SessionOwner {
        SessionOwner { actor: actor.id.clone(), tenant: actor.tenant.clone() }
    }
}

/// All sessions.
#[derive(Default)]
pub(crate) struct SessionTable {
    sessions: HashMap<SessionId, SessionEntry>,
    /// Number of sessions of each owner.
    owned: HashMap<SessionOwner, usize>,
}

struct SessionEntry {
    owner: SessionOwner,
    session: Arc<ClientSession>,
    /// `None` while it is suspended.
    live: Option<Arc<LiveStreams>>,
    /// Number of requests in it.
    visits: usize,
    last_use: Instant,
}

/// Numbers of sessions, for `/metrics`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionCounts {
    /// Sessions with live streams.
    pub(crate) awake: usize,
    /// Suspended sessions.
    pub(crate) asleep: usize,
    /// Size of all records, in bytes.
    pub(crate) bytes: usize,
}

/// Why there is no room for another session.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::mcp) enum SessionsFull {
    /// The actor's limit is reached, and each of its sessions is in use.
    Actor(usize),
    /// The server's limit is reached, and each session is in use.
    All(usize),
}

impl SessionEntry {
    fn is_idle(&self) -> bool {
        self.visits == 0
    }

    /// Ends its streams and its change feed.
    fn suspend(&mut self) {
        if let Some(live) = self.live.take() {
            live.over.cancel();
        }
    }

    /// Its size here, in bytes.
    fn bytes(&self, id: &SessionId) -> usize {
        size_of::<(SessionId, SessionEntry)>()
            + size_of::<ClientSession>()
            + id.len()
            + self.session.bytes()
    }
}

impl SessionTable {
    /// Adds a session; the oldest idle one of the owner or of all makes room where a limit is
    /// reached.
    pub(super) fn open(
        &mut self,
        id: &SessionId,
        owner: SessionOwner,
        session: ClientSession,
        limits: &SessionLimits,
    ) -> Result<(), SessionsFull> {
        if self.owned.get(&owner).copied().unwrap_or_default() >= limits.per_actor {
            let oldest = self.oldest_idle(|entry| entry.owner == owner);
            self.remove(&oldest.ok_or(SessionsFull::Actor(limits.per_actor))?);
        }
        if self.sessions.len() >= limits.most {
            let oldest = self.oldest_idle(|_| true);
            self.remove(&oldest.ok_or(SessionsFull::All(limits.most))?);
        }
        *self.owned.entry(owner.clone()).or_default() += 1;
        let (session, live) = (Arc::new(session), Some(Arc::new(LiveStreams::new())));
        let entry = SessionEntry { owner, session, live, visits: 0, last_use: Instant::now() };
        self.sessions.insert(id.clone(), entry);
        Ok(())
    }

    /// Adds a request to an owner's session, which is resumed where it is suspended.
    pub(super) fn enter(
        &mut self,
        id: &SessionId,
        owner: &SessionOwner,
    ) -> Option<(Arc<ClientSession>, Arc<LiveStreams>)> {
        let entry = self.sessions.get_mut(id).filter(|entry| entry.owner == *owner)?;
        entry.visits += 1;
        entry.last_use = Instant::now();
        let live = entry.live.get_or_insert_with(|| Arc::new(LiveStreams::new()));
        Some((entry.session.clone(), live.clone()))
    }

    /// Removes a request. A session that ended meanwhile is not brought back.
    pub(super) fn leave(&mut self, id: &SessionId) {
        if let Some(entry) = self.sessions.get_mut(id) {
            entry.visits = entry.visits.saturating_sub(1);
            entry.last_use = Instant::now();
        }
    }

    /// Ends an owner's session; returns whether there was one.
    pub(super) fn end(&mut self, id: &SessionId, owner: &SessionOwner) -> bool {
        let is_owned = self.sessions.get(id).is_some_and(|entry| entry.owner == *owner);
        if is_owned {
            self.remove(id);
        }
        is_owned
    }

    /// Ends the sessions that have been idle since then.
    pub(super) fn end_idle_since(&mut self, then: Option<Instant>) {
        let Some(then) = then else { return };
        let idle =
            self.sessions.iter().filter(|(_, entry)| entry.is_idle() && entry.last_use < then);
        let idle: Vec<SessionId> = idle.map(|(id, _)| id.clone()).collect();
        idle.iter().for_each(|id| self.remove(id));
    }

    /// Suspends the sessions that have been idle since then, and the oldest of the rest where too
    /// many are awake and idle. One with a large record is ended instead.
    pub(super) fn suspend_idle_since(&mut self, then: Option<Instant>, most: usize) {
        let idle =
            self.sessions.iter().filter(|(_, entry)| entry.live.is_some() && entry.is_idle());
        let mut idle: Vec<(Instant, SessionId)> =
            idle.map(|(id, entry)| (entry.last_use, id.clone())).collect();
        idle.sort_unstable();
        let surplus = idle.len().saturating_sub(most);
        for (place, (last_use, id)) in idle.into_iter().enumerate() {
            if place >= surplus && then.is_none_or(|then| last_use > then) {
                continue;
            }
            match self.sessions.get_mut(&id) {
                Some(entry) if entry.session.bytes() <= LARGEST_RECORD => entry.suspend(),
                Some(_) | None => self.remove(&id),
            }
        }
    }

    /// Numbers of sessions.
    pub(crate) fn counts(&self) -> SessionCounts {
        let awake = self.sessions.values().filter(|entry| entry.live.is_some()).count();
        let bytes = self.sessions.iter().map(|(id, entry)| entry.bytes(id)).sum();
        SessionCounts { awake, asleep: self.sessions.len() - awake, bytes }
    }

    fn remove(&mut self, id: &SessionId) {
        let Some(mut entry) = self.sessions.remove(id) else { return };
        entry.suspend();
        entry.session.hang_up();
        if let Some(count) = self.owned.get_mut(&entry.owner) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.owned.remove(&entry.owner);
            }
        }
    }

    fn oldest_idle(&self, among: impl Fn(&SessionEntry) -> bool) -> Option<SessionId> {
        let idle = self.sessions.iter().filter(|(_, entry)| entry.is_idle() && among(entry));
        idle.min_by_key(|(_, entry)| entry.last_use).map(|(id, _)| id.clone())
    }
}

#[cfg(test)]
mod tests;
