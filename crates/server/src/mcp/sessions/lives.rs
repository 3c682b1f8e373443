//! Session table: the owner, state and client settings of each MCP session.
#![expect(deprecated, reason = "clients of 2025 still use levels")]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use haft_driver::Cancel;
use haft_model::{Actor, ActorId};
use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, ClientNotification, ClientRequest, LoggingLevel,
    RequestId,
};
use rmcp::transport::streamable_http_server::SessionId;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::listen::SessionLimits;
use crate::mcp::change_feed::WatchedResources;
use crate::mcp::remarks::Level;

/// Owner of a session: actor and tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mcp) struct Owner {
    actor: ActorId,
    tenant: Arc<str>,
}

impl Owner {
    pub(in crate::mcp) fn of(actor: &Actor) -> Owner {
        Owner { actor: actor.id.clone(), tenant: actor.tenant.clone() }
    }
}

/// All sessions.
#[derive(Default)]
pub(crate) struct Lives {
    lives: HashMap<SessionId, Life>,
    /// Sessions of each owner, reservations included.
    owned: HashMap<Owner, usize>,
    /// Number of reservations.
    opening: usize,
}

/// Numbers of sessions, for `/metrics`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionCounts {
    /// Sessions with a worker.
    pub(crate) awake: usize,
    /// Suspended sessions.
    pub(crate) asleep: usize,
    /// Size of all records, in bytes.
    pub(crate) bytes: usize,
}

/// Why there is no room for another session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// The actor's limit is reached, and each of its sessions is in use.
    Actor(usize),
    /// The server's limit is reached, and each session is in use.
    All(usize),
}

pub(super) struct Life {
    owner: Owner,
    waiting: usize,
    since: Instant,
    /// `None` before the client has opened the session.
    habits: Option<Habits>,
    /// Whether the client sent `initialized`.
    ready: bool,
    /// Fast-path calls, which the library does not know.
    calls: HashMap<RequestId, Cancel>,
    /// The client's `initialize` request; `None` where it is too large to keep.
    opening: Option<Box<[u8]>>,
    asleep: bool,
    /// Held while it is suspended or resumed.
    turn: Option<Arc<Mutex<()>>>,
    /// Number of suspended workers that have not ended yet.
    ending: u32,
    memory: Option<Memory>,
}

/// What the worker of a session learned from its client, and the next one has to know.
pub(in crate::mcp) struct Memory {
    pub(in crate::mcp) level: Level,
    pub(in crate::mcp) watched: WatchedResources,
    /// Fires when the worker ends.
    pub(in crate::mcp) over: Cancel,
}

/// Client settings of a session.
#[derive(Clone)]
pub(in crate::mcp) struct Habits {
    /// Whether it has elicitation, sampling or roots.
    pub(in crate::mcp) can_be_asked: bool,
    /// Lowest log level that it set.
    pub(in crate::mcp) level: Option<LoggingLevel>,
}

impl Habits {
    fn of(told: &ClientCapabilities) -> Habits {
        let can_be_asked =
            told.elicitation.is_some() || told.sampling.is_some() || told.roots.is_some();
        Habits { can_be_asked, level: None }
    }
}

impl Life {
    fn is_idle(&self) -> bool {
        self.waiting == 0 && self.calls.is_empty()
    }

    /// Releases what the worker of the session holds.
    fn worker_ends(&mut self) {
        if let Some(memory) = &self.memory {
            memory.over.cancel();
        }
    }

    /// Its size here, in bytes.
    fn bytes(&self, id: &SessionId) -> usize {
        let watched = self.memory.as_ref().map_or(0, |memory| memory.watched.bytes());
        let opening = self.opening.as_ref().map_or(0, |opening| opening.len());
        // A lock, a level and cancellation tokens are allocated on their own.
        size_of::<(SessionId, Life)>() + id.len() + opening + watched + 256
    }
}

impl Lives {
    /// Adds a session that its owner opened.
    pub(super) fn opened(&mut self, id: &SessionId, owner: Owner) {
        let life = Life {
            owner: owner.clone(),
            waiting: 0,
            since: Instant::now(),
            habits: None,
            ready: false,
            calls: HashMap::new(),
            opening: None,
            asleep: false,
            turn: None,
            ending: 0,
            memory: None,
        };
        if self.lives.insert(id.clone(), life).is_none() {
            *self.owned.entry(owner).or_default() += 1;
        }
    }

    /// Whether the session exists and belongs to the owner.
    pub(super) fn is_of(&self, id: &SessionId, owner: &Owner) -> bool {
        self.lives.get(id).is_some_and(|life| life.owner == *owner)
    }

    /// Records a client message that the library answers.
    pub(super) fn heard(&mut self, id: &SessionId, message: &ClientJsonRpcMessage) {
        let Some(life) = self.touched(id) else { return };
        match message {
            ClientJsonRpcMessage::Request(request) => match &request.request {
                ClientRequest::InitializeRequest(begins) => {
                    // A resumed session is initialized again, and its client may have set more
                    // since.
                    let level = life.habits.as_ref().and_then(|habits| habits.level);
                    let habits = Habits::of(&begins.params.capabilities);
                    life.habits = Some(Habits { level, ..habits });
                }
                ClientRequest::SetLevelRequest(set) => {
                    if let Some(habits) = &mut life.habits {
                        habits.level = Some(set.params.level);
                    }
                }
                _ => {}
            },
            ClientJsonRpcMessage::Notification(told) => match &told.notification {
                ClientNotification::InitializedNotification(_) => life.ready = true,
                ClientNotification::CancelledNotification(told) => {
                    let request = told.params.request_id.as_ref();
                    if let Some(cancel) = request.and_then(|request| life.calls.get(request)) {
                        cancel.cancel();
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// The client settings of a session, once it is ready.
    pub(super) fn habits(&self, id: &SessionId, owner: &Owner) -> Option<&Habits> {
        let life = self.lives.get(id).filter(|life| life.owner == *owner && life.ready)?;
        life.habits.as_ref()
    }

    /// Adds a fast-path call.
    pub(super) fn calls(&mut self, id: &SessionId, request: &RequestId, cancel: Cancel) {
        if let Some(life) = self.joined(id) {
            life.calls.insert(request.clone(), cancel);
        }
    }

    pub(super) fn answered(&mut self, id: &SessionId, request: &RequestId) {
        if let Some(life) = self.lives.get_mut(id) {
            life.calls.remove(request);
        }
        self.went(id);
    }

    fn touched(&mut self, id: &SessionId) -> Option<&mut Life> {
        let life = self.lives.get_mut(id)?;
        life.since = Instant::now();
        Some(life)
    }

    pub(super) fn joined(&mut self, id: &SessionId) -> Option<&mut Life> {
        let life = self.touched(id)?;
        life.waiting += 1;
        Some(life)
    }

    pub(super) fn went(&mut self, id: &SessionId) {
        // A session that ended meanwhile is not brought back.
        if let Some(life) = self.touched(id) {
            life.waiting = life.waiting.saturating_sub(1);
        }
    }

    /// Ends a session, unless only its suspended worker ended; returns whether it did.
    pub(super) fn ended(&mut self, id: &SessionId, by_client: bool) -> bool {
        if let Some(life) = self.lives.get_mut(id)
            && !by_client
            && life.ending > 0
        {
            life.ending -= 1;
            return false;
        }
        self.remove(id);
        true
    }

    fn remove(&mut self, id: &SessionId) {
        let Some(mut life) = self.lives.remove(id) else { return };
        life.worker_ends();
        self.gives_back(&life.owner);
    }

    fn gives_back(&mut self, owner: &Owner) {
        if let Some(count) = self.owned.get_mut(owner) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.owned.remove(owner);
            }
        }
    }

    /// Removes the sessions that have been idle since then.
    pub(super) fn left_before(&mut self, then: Option<Instant>) -> Vec<SessionId> {
        let Some(then) = then else { return Vec::new() };
        let left = self.lives.iter().filter(|(_, life)| life.is_idle() && life.since < then);
        let left: Vec<SessionId> = left.map(|(id, _)| id.clone()).collect();
        left.iter().for_each(|id| self.remove(id));
        left
    }

    /// Suspends the sessions that have been idle since then, and the oldest of the rest where too
    /// many are awake and idle. Each stays locked until its worker is told to end.
    pub(super) fn drowsy(
        &mut self,
        then: Option<Instant>,
        most: usize,
    ) -> Vec<(SessionId, Option<OwnedMutexGuard<()>>)> {
        let idle = self.lives.iter().filter(|(_, life)| !life.asleep && life.is_idle());
        let mut idle: Vec<(Instant, SessionId)> =
            idle.map(|(id, life)| (life.since, id.clone())).collect();
        idle.sort_unstable();
        let surplus = idle.len().saturating_sub(most);
        let rested = |since: Instant| then.is_some_and(|then| since <= then);
        let drowsy = idle.into_iter().enumerate();
        let drowsy = drowsy.filter(|(place, (since, _))| *place < surplus || rested(*since));
        let drowsy: Vec<SessionId> = drowsy.map(|(_, (_, id))| id).collect();
        drowsy.into_iter().filter_map(|id| self.falls_asleep(id)).collect()
    }

    fn falls_asleep(&mut self, id: SessionId) -> Option<(SessionId, Option<OwnedMutexGuard<()>>)> {
        let life = self.lives.get_mut(&id)?;
        if life.opening.is_none() {
            // It has no record to resume from.
            self.remove(&id);
            return Some((id, None));
        }
        let turn = life.turn.get_or_insert_default().clone().try_lock_owned().ok()?;
        life.asleep = true;
        life.ending += 1;
        life.worker_ends();
        Some((id, Some(turn)))
    }

    /// The lock for resuming a session; `None` where it is awake.
    pub(super) fn asleep(&mut self, id: &SessionId) -> Option<Arc<Mutex<()>>> {
        let life = self.lives.get_mut(id).filter(|life| life.asleep)?;
        Some(life.turn.get_or_insert_default().clone())
    }

    /// Marks a session as awake; returns whether it was suspended.
    pub(super) fn woken(&mut self, id: &SessionId) -> bool {
        let life = self.touched(id);
        life.is_some_and(|life| std::mem::take(&mut life.asleep))
    }

    /// Keeps a client's `initialize` request.
    pub(super) fn keep(&mut self, id: &SessionId, opening: Option<Box<[u8]>>) {
        if let Some(life) = self.lives.get_mut(id) {
            life.opening = opening;
        }
    }

    /// The `initialize` request of a suspended session.
    pub(super) fn record(&self, id: &SessionId, owner: &Owner) -> Option<Box<[u8]>> {
        let life = self.lives.get(id).filter(|life| life.owner == *owner && life.asleep)?;
        life.opening.clone()
    }

    /// A worker of a session begins, with the settings of the one before it.
    pub(in crate::mcp) fn worker_begins(&mut self, id: &SessionId, memory: Memory) {
        let Some(life) = self.lives.get_mut(id) else { return };
        if let Some(before) = life.memory.take() {
            before.over.cancel();
            memory.level.copy(&before.level);
            memory.watched.copy(&before.watched);
        }
        life.memory = Some(memory);
    }

    /// Numbers of sessions.
    pub(crate) fn counts(&self) -> SessionCounts {
        let asleep = self.lives.values().filter(|life| life.asleep).count();
        let bytes = self.lives.iter().map(|(id, life)| life.bytes(id)).sum();
        SessionCounts { awake: self.lives.len() - asleep, asleep, bytes }
    }

    /// Reserves one more session of an actor; returns the sessions evicted for it.
    pub(super) fn admit(
        &mut self,
        owner: &Owner,
        limits: &SessionLimits,
    ) -> Result<Vec<SessionId>, Full> {
        let mut left = Vec::new();
        if self.owned.get(owner).copied().unwrap_or_default() >= limits.per_actor {
            let oldest = self.oldest_idle(|life| life.owner == *owner);
            let oldest = oldest.ok_or(Full::Actor(limits.per_actor))?;
            self.remove(&oldest);
            left.push(oldest);
        }
        if self.lives.len() + self.opening >= limits.most {
            let oldest = self.oldest_idle(|_| true).ok_or(Full::All(limits.most))?;
            self.remove(&oldest);
            left.push(oldest);
        }
        *self.owned.entry(owner.clone()).or_default() += 1;
        self.opening += 1;
        Ok(left)
    }

    /// Releases a reservation; an opened session counts by itself by then.
    pub(super) fn place_given_back(&mut self, owner: &Owner) {
        self.opening = self.opening.saturating_sub(1);
        self.gives_back(owner);
    }

    fn oldest_idle(&self, among: impl Fn(&Life) -> bool) -> Option<SessionId> {
        let idle = self.lives.iter().filter(|(_, life)| life.is_idle() && among(life));
        idle.min_by_key(|(_, life)| life.since).map(|(id, _)| id.clone())
    }
}

#[cfg(test)]
mod tests;
