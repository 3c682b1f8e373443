//! Change feed: notifies clients of changed tool lists and backend resources.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use haft_driver::{BackendNews, Driver};
use haft_model::DriverId;
use haft_runtime::World;
use rmcp::model::{
    PromptListChangedNotification, ResourceListChangedNotification, ResourceUpdatedNotification,
    ResourceUpdatedNotificationParam, ServerNotification, ToolListChangedNotification,
};
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinSet;

use super::client_session::ClientSession;
use super::listing::LastSeenList;
use crate::AppState;

/// Most notifications buffered for one client.
const MOST_NEWS: usize = 64;

/// Most bytes that the names of a session's subscriptions may take.
const MOST_WATCHED_BYTES: usize = 1024;

/// The resources that a session subscribed to.
#[derive(Default)]
pub(super) struct WatchedResources(Mutex<HashSet<String>>);

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
    /// Subscribes to all changes: of the viewer's tool list, and of backends.
    pub(super) fn new(desk: &Arc<AppState>, mut seen: LastSeenList) -> ChangeFeed {
        let (tell, heard) = mpsc::channel(MOST_NEWS);
        let mut changes = desk.runtime.changes();
        let desk = desk.clone();
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

    /// The next notification for a session: every changed list, and the resources it watches.
    pub(super) async fn next_for(&mut self, session: &ClientSession) -> Option<ServerNotification> {
        loop {
            match self.next().await? {
                BackendNews::Resource(uri) if !session.watched.has(&uri) => {}
                changed => return Some(notification(changed)),
            }
        }
    }

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

/// A change as the notification of it.
pub(super) fn notification(changed: BackendNews) -> ServerNotification {
    match changed {
        BackendNews::Tools => ToolListChangedNotification::default().into(),
        BackendNews::Prompts => PromptListChangedNotification::default().into(),
        BackendNews::Resources => ResourceListChangedNotification::default().into(),
        BackendNews::Resource(uri) => {
            ResourceUpdatedNotification::new(ResourceUpdatedNotificationParam::new(uri)).into()
        }
    }
}
