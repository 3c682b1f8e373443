//! Change feed: notifies clients of changed tool lists and backend resources.

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

/// Most notifications buffered for one client.
const MOST_NEWS: usize = 64;

/// Most bytes that the names of a session's subscriptions may take.
const MOST_WATCHED_BYTES: usize = 1024;

/// The resources that a session subscribed to.
#[derive(Clone, Default)]
pub(crate) struct WatchedResources(Arc<Mutex<HashSet<String>>>);

impl WatchedResources {
    /// Adds a name; false where the session's subscriptions would grow too large.
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

    /// Copies the subscriptions of the session's previous worker.
    pub(super) fn copy(&self, other: &WatchedResources) {
        let watched = other.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = watched;
    }

    /// Size of all names, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.iter().map(|uri| uri.len() + size_of::<String>()).sum()
    }

    pub(super) fn has(&self, uri: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(uri)
    }
}

/// Changes from now on. Dropping it ends the subscription.
pub(super) struct ChangeFeed {
    heard: mpsc::Receiver<BackendNews>,
    _listening: JoinSet<()>,
}

impl ChangeFeed {
    /// The next change. It takes the whole feed, because a task that takes the receiver alone would
    /// drop the listeners.
    pub(super) async fn next(&mut self) -> Option<BackendNews> {
        self.heard.recv().await
    }
}

/// Subscribed backends, by driver. A driver whose files changed is a new one.
struct Backends {
    known: HashMap<DriverId, Weak<dyn Driver>>,
    listening: JoinSet<()>,
    tell: mpsc::Sender<BackendNews>,
}

impl Backends {
    /// Subscribes to all current backends that are not subscribed yet.
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
            // A client that lags looks again at the next notification.
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => break,
        }
    }
}

impl McpHandler {
    /// Keeps the session of a request from being suspended.
    pub(super) fn presence(&self, context: &RequestContext<RoleServer>) -> Option<Presence> {
        let headers = context.extensions.get::<Parts>().map(|parts| &parts.headers);
        Some(Presence::new(&self.desk.sessions, &headers.and_then(session_id)?))
    }

    /// Sends notifications to a client, until its session ends or is suspended.
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
                    // A worker that ended is noticed only at the next send, which may never come.
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

    /// Subscribes to all changes: of the viewer's tool list, and of backends.
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
