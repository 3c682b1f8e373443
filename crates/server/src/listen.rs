//! HTTP server: one listening socket for every wire, with client limits and graceful shutdown.

mod body_timeout;
mod front;
mod self_wake;
mod write_timeout;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use haft_driver::Cancel;
use haft_model::Stop;
use haft_runtime::Runtime;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::auth::{AllowedHosts, Doorkeeper, Issuer, OAuth, check_names, establish, metadata};
use crate::mcp::HttpTransport;
use crate::{AppState, a2a, metrics, rest};
use front::Front;
use self_wake::Steady;
use write_timeout::WriteTimeout;

/// Largest request head, in bytes.
const LARGEST_HEAD: usize = 64 * 1024;

/// How long connections may take to close during graceful shutdown.
const FAREWELL: Duration = Duration::from_secs(5);

/// Why a server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is in use, or not of this machine.
    #[error("`{address}` cannot be listened on: {cause}")]
    Taken {
        /// The address.
        address: String,
        /// The cause.
        cause: std::io::Error,
    },
    /// The address is public and no token is required.
    #[error(
        "`{0}` can be reached from outside and callers would not have to authenticate; make a \
         token with `haft token new ID` or set [server.oauth], or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// The ledger cannot be asked for tokens.
    #[error("{}", .0.message)]
    Unreadable(Stop),
}

/// Limits on clients: connections, timeouts and sessions.
#[derive(Clone, Copy, Debug)]
pub struct ClientLimits {
    /// Most open connections; further ones wait to be accepted (backpressure).
    pub connections: usize,
    /// Timeout for a request head, also between two requests (keep-alive).
    pub head: Duration,
    /// Timeout for a request body to arrive.
    pub body: Duration,
    /// Write timeout: how long a client may read nothing of what it is sent.
    pub unread: Duration,
    /// How long an MCP call may take and still be answered as one document. A longer one becomes a
    /// stream, so that proxies in between see a sign of life.
    pub document: Duration,
    /// Graceful shutdown: how long running calls may take once the server stops.
    pub patience: Duration,
    /// Limits on MCP sessions.
    pub sessions: SessionLimits,
}

/// Limits on MCP sessions: their number, and how long an idle one keeps its worker.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// Most sessions of all actors together.
    pub most: usize,
    /// Most sessions of one actor.
    pub per_actor: usize,
    /// Most idle sessions that keep their worker; the oldest beyond that are suspended.
    pub awake: usize,
    /// How long an idle session keeps its worker, and with it the undelivered rest of a broken
    /// stream.
    pub rest: Duration,
}

impl Default for SessionLimits {
    fn default() -> SessionLimits {
        SessionLimits { most: 10_000, per_actor: 1_000, awake: 64, rest: Duration::from_secs(60) }
    }
}

impl Default for ClientLimits {
    fn default() -> ClientLimits {
        ClientLimits {
            connections: 4096,
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            unread: Duration::from_secs(30),
            document: Duration::from_secs(5),
            patience: Duration::from_secs(20),
            sessions: SessionLimits::default(),
        }
    }
}

/// External names of a server, and who may connect.
#[derive(Clone, Default)]
pub struct Entrance {
    /// Host names such as `tools.example`. A server with one is reachable from outside, if only
    /// through a proxy, and requires a token.
    pub hosts: Vec<String>,
    /// OAuth settings; with them every request needs a token.
    pub oauth: Option<OAuth>,
    /// Limits on clients.
    pub limits: ClientLimits,
}

/// A bound HTTP server.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    front: Arc<Front>,
    runtime: Arc<Runtime>,
    limits: ClientLimits,
    strangers: bool,
    stop: Cancel,
}

impl HttpServer {
    /// Binds an address, under the loopback names.
    pub async fn bind(desk: Arc<AppState>, address: &str) -> Result<HttpServer, Error> {
        HttpServer::open(desk, address, Entrance::default()).await
    }

    /// Binds an address. A server that is reachable from outside requires a token of every caller,
    /// and does not listen while there is none.
    pub async fn open(
        desk: Arc<AppState>,
        address: &str,
        entrance: Entrance,
    ) -> Result<HttpServer, Error> {
        let taken = |cause| Error::Taken { address: address.to_owned(), cause };
        let listener = TcpListener::bind(address).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let Entrance { hosts, oauth, limits } = entrance;
        // Only a refusal tells an OAuth client that it has to log in.
        let strangers = address.ip().is_loopback() && hosts.is_empty() && oauth.is_none();
        let known =
            oauth.is_some() || desk.runtime.has_tokens().await.map_err(Error::Unreadable)?;
        if !strangers && !known {
            return Err(Error::Open(address));
        }
        desk.tally.begin(&desk.runtime.reader()).await;
        let stop = Cancel::new();
        let names = AllowedHosts::new(address, &hosts);
        let issuer = oauth.map(|oauth| Arc::new(Issuer::new(oauth)));
        let keeper = Doorkeeper { desk: desk.clone(), names, strangers, issuer };
        let runtime = desk.runtime.clone();
        let front = Arc::new(front(desk, keeper, &limits, &stop));
        Ok(HttpServer { listener, address, front, runtime, limits, strangers, stop })
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether every request needs a token.
    pub fn wants_token(&self) -> bool {
        !self.strangers
    }

    /// Serves until `stop` fires, then shuts down gracefully: accepts no more calls and lets
    /// running ones and their connections end. Returns the number of calls that are left to
    /// recovery.
    pub async fn run(self, stop: Cancel) -> usize {
        let places = Arc::new(Semaphore::new(self.limits.connections));
        let leaving = GracefulShutdown::new();
        loop {
            let free = places.clone().acquire_owned();
            let place = tokio::select! {
                Ok(place) = free => place,
                () = stop.cancelled() => break,
            };
            let stream = tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    // The client left before it was accepted, or no file descriptor is free.
                    Err(_) => {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                        continue;
                    }
                },
                () = stop.cancelled() => break,
            };
            // Answers are small and many: Nagle's algorithm would delay each by 40 ms.
            let _ = stream.set_nodelay(true);
            let serving = serve(stream, self.front.clone(), self.limits, &leaving);
            tokio::spawn(async move {
                serving.await;
                drop(place);
            });
        }
        // New clients are refused, and those that wait for an answer get it.
        drop(self.listener);
        let left = self.runtime.stop(self.limits.patience).await;
        self.stop.cancel();
        let _ = tokio::time::timeout(FAREWELL, leaving.shutdown()).await;
        left
    }
}

/// Serves one connection. Its errors are its client's business.
fn serve(
    stream: TcpStream,
    front: Arc<Front>,
    limits: ClientLimits,
    leaving: &GracefulShutdown,
) -> impl Future<Output = ()> + use<> {
    // HTTP/1 only: protocol detection waits for a client without a timeout, and clients do not
    // speak HTTP/2 without TLS, which is a proxy's business.
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    let mut http = builder.http1();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(LARGEST_HEAD);
    let service = service_fn(move |request| {
        let front = front.clone();
        async move { Ok::<_, Infallible>(front.answer(request).await) }
    });
    let stream = TokioIo::new(WriteTimeout::new(stream, limits.unread));
    let connection = builder.serve_connection(stream, service).into_owned();
    let watched = Steady::new(Box::pin(leaving.watch(connection)));
    async move {
        let _ = watched.await;
    }
}

fn front(desk: Arc<AppState>, keeper: Doorkeeper, limits: &ClientLimits, stop: &Cancel) -> Front {
    let keeper = Arc::new(keeper);
    let mcp = HttpTransport::new(desk.clone(), limits, stop);
    let known = Router::new()
        .nest_service("/mcp", mcp.router())
        .nest("/v1", rest::router())
        .merge(a2a::router())
        .merge(metrics::router())
        .fallback(rest::nothing_there)
        .layer(from_fn_with_state(keeper.clone(), establish))
        .with_state(desk);
    // Public routes come first: any other path needs authentication.
    let open = keeper.issuer.clone().map(metadata).unwrap_or_default();
    let router = open.merge(known).layer(from_fn_with_state(keeper.clone(), check_names));
    let router = router.layer(from_fn_with_state(limits.body, body_timeout::body_within));
    Front { router, keeper, mcp, body: limits.body }
}
