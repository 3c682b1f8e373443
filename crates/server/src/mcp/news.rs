//! What changes, for clients that want to hear of it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use haft_driver::BackendNews;
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

impl Wire {
    /// Hears of everything that changes: what somebody sees, and what backends tell.
    pub(super) fn news(&self, mut seen: Seen) -> News {
        let (tell, heard) = mpsc::channel(MOST_NEWS);
        let mut listening = JoinSet::new();
        let mut changes = self.desk.runtime.changes();
        let told = tell.clone();
        listening.spawn(async move {
            while changes.changed().await.is_ok() {
                if seen.changed() && told.send(BackendNews::Tools).await.is_err() {
                    break;
                }
            }
        });
        let world = self.desk.world();
        let backends = world.drivers.values().filter_map(|driver| driver.backend());
        for mut news in backends.filter_map(|backend| backend.news()) {
            let told = tell.clone();
            listening.spawn(async move {
                loop {
                    match news.recv().await {
                        Ok(news) => {
                            if told.send(news).await.is_err() {
                                break;
                            }
                        }
                        // Whoever is slow looks again at what it is told next.
                        Err(broadcast::error::RecvError::Lagged(_)) => {}
                        Err(broadcast::error::RecvError::Closed) => break,
                    }
                }
            });
        }
        News { heard, _listening: listening }
    }
}
