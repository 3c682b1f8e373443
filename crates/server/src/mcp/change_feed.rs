//! What changes, for clients that want to hear of it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::http::request::Parts;
use haft_driver::{BackendNews, Cancel, Driver};
use haft_model::DriverId;
use haft_runtime::World;
use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RequestContext};
use rmcp::transport::streamable_http_server::SessionId;
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinSet;

use super::handler::McpHandler;
use super::listing::LastSeenList;
use super::request_meta::session_id;
use super::sessions::{Memory, Presence};

/// How many changes wait to be told to one client.
const MOST_NEWS: usize = 64;

/// How many bytes the names of all resources that a session wants to hear of may take.
const MOST_WATCHED_BYTES: usize = 1024;

/// The resources that a session wants to hear of.
#[derive(Clone, Default)]
pub(crate) struct WatchedResources(Arc<Mutex<HashSet<String>>>);

impl WatchedResources {
    /// Adds a name, unless there are so many that an idle session would not be small.
    pub(super) fn add(&self, uri: &str) -> bool {
        if self.bytes() + uri.len() > MOST_WATCHED_BYTES {
            return false;
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(uri.to_owned());
        true
    }

    pub(super) fn remove(&self, uri: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    /// Takes over what another watched.
    pub(super) fn copy(&self, other: &WatchedResources) {
        let watched = other.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = watched;
    }

    /// How many bytes the names of all take.
    pub(super) fn bytes(&self) -> usize {
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.iter().map(|uri| uri.len() + size_of::<String>()).sum()
    }

    pub(super) fn has(&self, uri: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(uri)
    }
}

/// What changes from now on. It ends with whoever holds it.
pub(super) struct ChangeFeed {
    heard: mpsc::Receiver<BackendNews>,
    _listening: JoinSet<()>,
}

impl ChangeFeed {
    /// The next change. Asked of the whole, because a task that takes the receiver alone would let go of
    /// those who listen.
    pub(super) async fn next(&mut self) -> Option<BackendNews> {
        self.heard.recv().await
    }
}

/// The backends that are listened to, by their drivers. A driver whose files changed is another one.
struct Backends {
    known: HashMap<DriverId, Weak<dyn Driver>>,
    listening: JoinSet<()>,
    tell: mpsc::Sender<BackendNews>,
}

impl Backends {
    /// Listens to all that there are now, beside those that are listened to already.
    fn listen(&mut self, world: &World) {
        for (id, driver) in &world.drivers {
            let now = Arc::downgrade(driver);
            if self.known.get(id).is_some_and(|known| known.ptr_eq(&now)) {
                continue;
            }
            if let Some(news) = driver.backend().and_then(|backend| backend.news()) {
                self.listening.spawn(hand_on(news, self.tell.clone()));
                self.known.insert(id.clone(), now);
            }
        }
        while self.listening.try_join_next().is_some() {}
    }
}

async fn hand_on(mut news: broadcast::Receiver<BackendNews>, tell: mpsc::Sender<BackendNews>) {
    loop {
        match news.recv().await {
            Ok(news) => {
                if tell.send(news).await.is_err() {
                    break;
                }
            }
            // Whoever is slow looks again at what it is told next.
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => break,
        }
    }
}

impl McpHandler {
    /// Keeps the session of a request from falling asleep.
    pub(super) fn presence(&self, context: &RequestContext<RoleServer>) -> Option<Presence> {
        let headers = context.extensions.get::<Parts>().map(|parts| &parts.headers);
        Some(Presence::new(&self.desk.sessions, &headers.and_then(session_id)?))
    }

    /// Tells a client of what changes, until its session ends or falls asleep.
    pub(super) fn tell_news(
        &self,
        session: Option<SessionId>,
        seen: LastSeenList,
        peer: Peer<RoleServer>,
    ) {
        let over = Cancel::new();
        if let Some(id) = session {
            let (level, watched) = (self.level.clone(), self.watched.clone());
            let memory = Memory { level, watched, over: over.clone() };
            let mut sessions = self.desk.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            sessions.worker_begins(&id, memory);
        }
        let (mut news, watched) = (self.news(seen), self.watched.clone());
        tokio::spawn(async move {
            loop {
                let changed = tokio::select! {
                    changed = news.next() => changed,
                    // A worker that ended is noticed by what it is told next, which may be never.
                    () = over.cancelled() => None,
                };
                let told = match changed {
                    None => break,
                    Some(BackendNews::Tools) => peer.notify_tool_list_changed().await,
                    Some(BackendNews::Prompts) => peer.notify_prompt_list_changed().await,
                    Some(BackendNews::Resources) => peer.notify_resource_list_changed().await,
                    Some(BackendNews::Resource(uri)) if watched.has(&uri) => {
                        peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri))
                            .await
                    }
                    Some(BackendNews::Resource(_)) => Ok(()),
                };
                if told.is_err() {
                    break;
                }
            }
        });
    }

    /// Hears of everything that changes: what somebody sees, and what backends tell.
    pub(super) fn news(&self, mut seen: LastSeenList) -> ChangeFeed {
        let (tell, heard) = mpsc::channel(MOST_NEWS);
        let mut changes = self.desk.runtime.changes();
        let desk = self.desk.clone();
        let mut backends =
            Backends { known: HashMap::new(), listening: JoinSet::new(), tell: tell.clone() };
        backends.listen(&desk.world());
        let mut listening = JoinSet::new();
        listening.spawn(async move {
            while changes.changed().await.is_ok() {
                backends.listen(&desk.world());
                if seen.changed() && tell.send(BackendNews::Tools).await.is_err() {
                    break;
                }
            }
        });
        ChangeFeed { heard, _listening: listening }
    }
}
