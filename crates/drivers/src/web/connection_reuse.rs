//! Connection pool for writes: keeps idle connections per host for a second, each with its own
//! client.
//!
//! A client connects for its first request only, so it is known beforehand whether a request goes
//! over a reused connection. Then the submission is recorded first; if the connection turns out to
//! be closed, the client reports that instead of reconnecting silently. The unsent request then
//! goes over a new connection.
//!
//! The idle timeout is shorter than that of servers. After the first connection that was closed
//! early or broke, the pool keeps none of this host any more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Client;

use super::client::{self, Trust};
use super::sending::{SendFault, Sending};
use super::{ConnectRoute, HttpResponse, Outgoing, RequestFailure, addresses, exchange};
use crate::failure::blocking;

/// Idle timeout. Servers with keep-alive wait for two seconds or more.
pub(super) const KEPT: Duration = Duration::from_secs(1);

/// Maximum number of idle connections.
const MOST_KEPT: usize = 32;

/// How long a client waits for its connection to return before it counts as closed.
const HANDED_BACK: Duration = Duration::from_millis(20);

/// The idle connections to one host.
#[derive(Default)]
pub(crate) struct Lines {
    idle: Mutex<Vec<ReusedConnection>>,
    /// Whether the host closed a connection early; then none is kept.
    fickle: AtomicBool,
}

/// A connection with its client, used by one request at a time.
pub(crate) struct ReusedConnection {
    client: Client,
    since: Instant,
}

/// The right to connect: the first request takes it, and no later one gets it.
pub(super) struct ConnectTurn(Mutex<Option<Arc<Sending>>>);

/// The reused connection was closed.
#[derive(Debug, thiserror::Error)]
#[error("the connection that was kept is gone")]
pub(super) struct ConnectionClosed;

impl Lines {
    /// Sends a write and returns its response head.
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

    /// Returns a connection to the pool after its response was read to the end.
    pub(super) fn done(&self, line: ReusedConnection) {
        if self.fickle.load(Ordering::Relaxed) {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_KEPT {
            idle.push(ReusedConnection { since: Instant::now(), ..line });
        }
    }

    /// The connection that was used last, unless it idled out; then all others have as well.
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
        // Loading certificates reads files, so it runs on a blocking thread.
        let client = blocking(move || client::kept(addresses, turn, trust)).await;
        let client =
            client.map_err(RequestFailure::Stopped)?.map_err(|_| RequestFailure::Unready)?;
        Ok(ReusedConnection { client, since: Instant::now() })
    }
}

impl ConnectTurn {
    /// The turn of a client's first request.
    pub(super) fn first(sending: Arc<Sending>) -> ConnectTurn {
        ConnectTurn(Mutex::new(Some(sending)))
    }

    pub(super) fn take(&self) -> Option<Arc<Sending>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Refuses every later attempt to connect. The client's connection may just be returning to it,
    /// so the refusal waits for it to arrive, and the client takes that connection instead.
    pub(super) async fn gone<T>() -> Result<T, SendFault> {
        tokio::time::sleep(HANDED_BACK).await;
        Err(ConnectionClosed.into())
    }
}
