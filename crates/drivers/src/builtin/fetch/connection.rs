//! One request over one connection, to addresses that were looked up once and checked.
//!
//! Nothing is kept between requests: no connection, no cookie, no answer of a name server. So what
//! was checked is what is used, and no call sees anything of another.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use haft_driver::{Failure, Link};
use haft_model::{Code, Stop};
use haft_sandbox::{AddressGuard, CheckedUrl};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Response};
use tower_layer::Layer;
use tower_service::Service;

use super::refused;
use crate::builtin::{Lookup, blocking, running, while_running};

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// How far a call has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing was sent.
    Unsent,
    /// It was said that something will be sent, and nothing was.
    Announced,
    /// A request was sent and not answered yet.
    Sent,
    /// The last request was answered.
    Answered,
}

/// The sending side of a call: it says when the first request goes out, and remembers how far it got.
#[derive(Debug)]
pub(super) struct Sending {
    link: Link,
    stage: Mutex<Stage>,
    unrecorded: Mutex<Option<Failure>>,
}

impl Sending {
    pub(super) fn new(link: Link) -> Sending {
        Sending { link, stage: Mutex::new(Stage::Unsent), unrecorded: Mutex::new(None) }
    }

    pub(super) fn stage(&self) -> Stage {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reached(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    /// Why the submission could not be recorded, if that is why the call ended.
    pub(super) fn unrecorded(&self) -> Option<Failure> {
        self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The connection stands and the request is next.
    async fn begin(&self) -> Result<(), Fault> {
        if self.stage() == Stage::Unsent {
            self.reached(Stage::Announced);
            if let Err(failure) = self.link.submit().await {
                *self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                return Err("the submission was not recorded".into());
            }
        }
        self.reached(Stage::Sent);
        Ok(())
    }
}

/// How a call gets to an address.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) guard: &'a AddressGuard,
    pub(super) lookup: Lookup,
    pub(super) sending: &'a Arc<Sending>,
}

impl Way<'_> {
    /// Sends one request and gives back the head of its answer.
    pub(super) async fn send(self, url: &CheckedUrl) -> Result<Response, Stop> {
        let addresses = self.addresses(url).await?;
        let (sending, trust) = (Arc::clone(self.sending), Trust::of(url));
        // The certificates are files.
        let client = blocking(move || client(addresses, sending, trust)).await?;
        let client =
            client.map_err(|_| running(Code::Internal, "the http client could not be set up"))?;
        let answer = client.get(url.as_str()).send().await.map_err(|fault| {
            let host = url.host();
            let (code, message) = if fault.is_connect() {
                (Code::DependencyUnavailable, format!("`{host}` cannot be reached"))
            } else {
                (Code::ExecutionFailed, format!("`{host}` did not answer as a web server does"))
            };
            running(code, message).at("/url")
        })?;
        self.sending.reached(Stage::Answered);
        Ok(answer)
    }

    /// What a name stands for, checked. A host that is an address was checked as it was written.
    async fn addresses(self, url: &CheckedUrl) -> Result<Vec<SocketAddr>, Stop> {
        if !url.is_name() {
            return Ok(Vec::new());
        }
        let (host, port, lookup) = (url.host().to_owned(), url.port(), self.lookup);
        let found = blocking(move || lookup(&host, port)).await?.map_err(|_| {
            let message = format!("`{}` cannot be looked up", url.host());
            running(Code::DependencyUnavailable, message).at("/url")
        })?;
        let plain: Vec<_> = found.iter().map(SocketAddr::ip).collect();
        let checked = self.guard.check_addresses(url, &plain);
        checked.map_err(|forbidden| while_running(refused(&forbidden)))?;
        Ok(found)
    }
}

/// Which servers can prove who they are.
#[derive(Clone, Copy)]
enum Trust {
    /// Those that the system trusts.
    System,
    /// None, because none will be asked to; reading what the system trusts takes milliseconds.
    Nobody,
}

impl Trust {
    fn of(url: &CheckedUrl) -> Trust {
        if url.is_plain() { Trust::Nobody } else { Trust::System }
    }
}

fn client(
    addresses: Vec<SocketAddr>,
    sending: Arc<Sending>,
    trust: Trust,
) -> Result<Client, reqwest::Error> {
    let builder = match trust {
        Trust::System => Client::builder(),
        Trust::Nobody => Client::builder().tls_certs_only([]),
    };
    builder
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .pool_max_idle_per_host(0)
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Pinned(addresses))
        .connector_layer(Announce(sending))
        .build()
}

/// The only addresses there are, whatever name is asked for.
struct Pinned(Vec<SocketAddr>);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

/// Says that the effect begins between connecting and sending, where neither is possible from
/// outside of the client.
#[derive(Clone)]
struct Announce(Arc<Sending>);

#[derive(Clone)]
struct Announcing<S> {
    connect: S,
    sending: Arc<Sending>,
}

impl<S> Layer<S> for Announce {
    type Service = Announcing<S>;

    fn layer(&self, connect: S) -> Announcing<S> {
        Announcing { connect, sending: Arc::clone(&self.0) }
    }
}

impl<S, R> Service<R> for Announcing<S>
where
    S: Service<R, Error = Fault>,
    S::Future: Send + 'static,
    S::Response: Send,
{
    type Response = S::Response;
    type Error = Fault;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, Fault>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        self.connect.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let connecting = self.connect.call(request);
        let sending = Arc::clone(&self.sending);
        Box::pin(async move {
            let connection = connecting.await?;
            sending.begin().await?;
            Ok(connection)
        })
    }
}
