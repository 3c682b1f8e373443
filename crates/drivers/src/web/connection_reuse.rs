//! Connection pool for writes: keeps idle connections per host for a second, each with its own client.
//!
//! A client here connects for its first request alone. So whether a request goes over a connection
//! that was used before is known beforehand: then the submission is put on record first, and if the
//! connection turns out to be gone, the client says so instead of connecting behind our back. What it
//! then gives back unsent is sent over a new connection, knowingly.
//!
//! A connection is kept for a shorter time than servers keep theirs. The first that was gone all the
//! same, or broke, shows that this host is not one of those, and from then on none is kept.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Client;

use super::client::{self, Trust};
use super::sending::{SendFault, Sending};
use super::{ConnectRoute, HttpResponse, Outgoing, RequestFailure, addresses, exchange};
use crate::failure::blocking;

/// How long a connection is kept. Servers that keep them at all do so for two seconds and more.
pub(super) const KEPT: Duration = Duration::from_secs(1);

/// How many connections are kept.
const MOST_KEPT: usize = 32;

/// The client is told to wait so long for its connection to be handed back before it is gone.
const HANDED_BACK: Duration = Duration::from_millis(20);

/// The connections to one host.
#[derive(Default)]
pub(crate) struct Lines {
    idle: Mutex<Vec<ReusedConnection>>,
    /// Whether the host was seen to close connections early.
    fickle: AtomicBool,
}

/// A connection with its client. Whoever holds it has it to itself.
pub(crate) struct ReusedConnection {
    client: Client,
    since: Instant,
}

/// Whose turn it is to connect: that of the first request, and then nobody's.
pub(super) struct ConnectTurn(Mutex<Option<Arc<Sending>>>);

/// The connection that was kept is not there any more.
#[derive(Debug, thiserror::Error)]
#[error("the connection that was kept is gone")]
pub(super) struct ConnectionClosed;

impl Lines {
    /// Sends a request that may change something, and gives back the head of its answer.
    pub(crate) async fn send(
        &self,
        way: ConnectRoute<'_>,
        request: &Outgoing,
    ) -> Result<HttpResponse<'_>, RequestFailure> {
        if let Some(line) = self.kept() {
            way.sending.begin().await.map_err(|_| RequestFailure::Unrecorded)?;
            match exchange(&line.client, request.clone()).await {
                Ok(head) => return Ok(HttpResponse::over(line, self, way.answered(head))),
                Err(RequestFailure::Gone) => {
                    self.fickle.store(true, Ordering::Relaxed);
                    way.sending.held_back();
                }
                Err(fault) => {
                    self.fickle.store(true, Ordering::Relaxed);
                    return Err(fault);
                }
            }
        }
        let line = Box::pin(ReusedConnection::open(way, request)).await?;
        let head = way.answered(exchange(&line.client, request.clone()).await?);
        Ok(HttpResponse::over(line, self, head))
    }

    /// Takes a connection back whose answer was read to its end.
    pub(super) fn done(&self, line: ReusedConnection) {
        if self.fickle.load(Ordering::Relaxed) {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_KEPT {
            idle.push(ReusedConnection { since: Instant::now(), ..line });
        }
    }

    /// The one that was used last, if that was a moment ago. The others are older still.
    fn kept(&self) -> Option<ReusedConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let line = idle.pop().filter(|line| line.since.elapsed() < KEPT);
        if line.is_none() {
            idle.clear();
        }
        line
    }
}

impl ReusedConnection {
    async fn open(
        way: ConnectRoute<'_>,
        request: &Outgoing,
    ) -> Result<ReusedConnection, RequestFailure> {
        let addresses = addresses(way.guard, way.lookup, &request.url).await?;
        let turn = Arc::new(ConnectTurn::first(Arc::clone(way.sending)));
        let trust = Trust::of(&request.url);
        // The certificates are files.
        let client = blocking(move || client::kept(addresses, turn, trust)).await;
        let client =
            client.map_err(RequestFailure::Stopped)?.map_err(|_| RequestFailure::Unready)?;
        Ok(ReusedConnection { client, since: Instant::now() })
    }
}

impl ConnectTurn {
    /// The turn of a first request.
    pub(super) fn first(sending: Arc<Sending>) -> ConnectTurn {
        ConnectTurn(Mutex::new(Some(sending)))
    }

    pub(super) fn take(&self) -> Option<Arc<Sending>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The end of every later wish to connect. A connection may be on its way back to the client just
    /// then, so there is a moment for it to arrive, and it is taken before this ends.
    pub(super) async fn gone<T>() -> Result<T, SendFault> {
        tokio::time::sleep(HANDED_BACK).await;
        Err(ConnectionClosed.into())
    }
}
