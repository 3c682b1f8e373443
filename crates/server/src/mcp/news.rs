//! What changes, for clients that want to hear of it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use haft_driver::{BackendNews, Driver};
use haft_model::DriverId;
use haft_runtime::World;
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinSet;

use super::handler::Wire;
use super::listing::Seen;

/// How many changes wait to be told to one client.
const MOST_NEWS: usize = 64;

/// The resources that a session wants to hear of.
#[derive(Clone, Default)]
pub(crate) struct Watched(Arc<Mutex<HashSet<String>>>);

impl Watched {
    pub(super) fn add(&self, uri: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(uri.to_owned());
    }

    pub(super) fn remove(&self, uri: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    pub(super) fn has(&self, uri: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(uri)
    }
}

/// What changes from now on. It ends with whoever holds it.
pub(super) struct News {
    heard: mpsc::Receiver<BackendNews>,
    _listening: JoinSet<()>,
}

impl News {
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

impl Wire {
    /// Hears of everything that changes: what somebody sees, and what backends tell.
    pub(super) fn news(&self, mut seen: Seen) -> News {
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
        News { heard, _listening: listening }
    }
}
