//! One socket on which everybody is heard.

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
use crate::{Desk, a2a, mcp, metrics, rest};
use front::Front;
use self_wake::Steady;
use write_timeout::WriteTimeout;

/// The most that the head of a request takes.
const LARGEST_HEAD: usize = 64 * 1024;

/// How long connections may take to end once the server is to stop.
const FAREWELL: Duration = Duration::from_secs(5);

/// Why a server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is taken, or not of this machine.
    #[error("`{address}` cannot be listened on: {cause}")]
    Taken {
        /// Which.
        address: String,
        /// Why.
        cause: std::io::Error,
    },
    /// Anybody could call.
    #[error(
        "`{0}` can be reached from outside and nobody would have to say who they are; make a token \
         with `haft token new ID` or set [server.oauth], or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// The ledger cannot be asked for tokens.
    #[error("{}", .0.message)]
    Unreadable(Stop),
}

/// How much clients may take.
#[derive(Clone, Copy, Debug)]
pub struct ClientLimits {
    /// How many connections are open at once; others wait to be accepted.
    pub connections: usize,
    /// How long a client may take to say what it wants, also between two requests.
    pub head: Duration,
    /// How long the body of a request may take to arrive.
    pub body: Duration,
    /// How long a client may take nothing of what it is sent.
    pub unread: Duration,
    /// How long the answer to a call over MCP may take and still come as one document. One that takes
    /// longer is a stream, so that whoever stands between hears a sign of life.
    pub document: Duration,
    /// How long calls that are under way may take once the server is to stop.
    pub patience: Duration,
    /// How many sessions of MCP there may be.
    pub sessions: SessionLimits,
}

/// How many sessions of MCP there may be, and how long an idle one keeps its worker.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// Of all actors together.
    pub most: usize,
    /// Of one actor.
    pub per_actor: usize,
    /// How many idle ones keep their worker; the oldest of others are put to sleep.
    pub awake: usize,
    /// How long an idle one keeps its worker, and with it what was not delivered of a stream that broke.
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

/// By which names a server goes beside those of this machine, and who is let in.
#[derive(Clone, Default)]
pub struct Entrance {
    /// Names, such as `tools.example`. Whoever gives one is called from outside, if only by a proxy.
    pub hosts: Vec<String>,
    /// Whose access tokens are taken; then nobody comes in without one.
    pub oauth: Option<OAuth>,
    /// How much they may take.
    pub limits: ClientLimits,
}

/// A socket that is listened on.
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
    /// Takes an address, under the names of this machine.
    pub async fn bind(desk: Arc<Desk>, address: &str) -> Result<HttpServer, Error> {
        HttpServer::open(desk, address, Entrance::default()).await
    }

    /// Takes an address. Whoever can be reached from outside wants a token from everybody, and does
    /// not listen while there is none.
    pub async fn open(
        desk: Arc<Desk>,
        address: &str,
        entrance: Entrance,
    ) -> Result<HttpServer, Error> {
        let taken = |cause| Error::Taken { address: address.to_owned(), cause };
        let listener = TcpListener::bind(address).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let Entrance { hosts, oauth, limits } = entrance;
        // A client learns only by a refusal that it has to log in.
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether everybody has to show a token.
    pub fn wants_token(&self) -> bool {
        !self.strangers
    }

    /// Answers until `stop` fires, then takes no more calls and lets those under way end, and their
    /// connections. Gives how many calls are left to whoever opens the workspace next.
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
                    // A client that left before it was let in, or no descriptor to let it in by.
                    Err(_) => {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                        continue;
                    }
                },
                () = stop.cancelled() => break,
            };
            // Answers are small and many: waiting to fill a packet makes each take 40 ms.
            let _ = stream.set_nodelay(true);
            let serving = serve(stream, self.front.clone(), self.limits, &leaving);
            tokio::spawn(async move {
                serving.await;
                drop(place);
            });
        }
        // New clients find nobody, and those who wait for an answer get it.
        drop(self.listener);
        let left = self.runtime.stop(self.limits.patience).await;
        self.stop.cancel();
        let _ = tokio::time::timeout(FAREWELL, leaving.shutdown()).await;
        left
    }
}

/// One connection. What goes wrong with it is its client's business.
fn serve(
    stream: TcpStream,
    front: Arc<Front>,
    limits: ClientLimits,
    leaving: &GracefulShutdown,
) -> impl Future<Output = ()> + use<> {
    // Without the newer HTTP: telling them apart waits for a client for as long as it likes, and nobody
    // speaks it without TLS, which is a proxy's business.
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

fn front(desk: Arc<Desk>, keeper: Doorkeeper, limits: &ClientLimits, stop: &Cancel) -> Front {
    let keeper = Arc::new(keeper);
    let (mcp, straight) = mcp::service(desk.clone(), limits, stop);
    let known = Router::new()
        .nest_service("/mcp", mcp)
        .nest("/v1", rest::router())
        .merge(a2a::router())
        .merge(metrics::router())
        .fallback(rest::nothing_there)
        .layer(from_fn_with_state(keeper.clone(), establish))
        .with_state(desk);
    // What is for everybody comes first: what nobody answers is left to those who are known.
    let open = keeper.issuer.clone().map(metadata).unwrap_or_default();
    let router = open.merge(known).layer(from_fn_with_state(keeper.clone(), check_names));
    let router = router.layer(from_fn_with_state(limits.body, body_timeout::body_within));
    Front { router, keeper, straight, body: limits.body }
}
