//! HTTP client builders: one for a single request, one for writes over a reused connection, and one
//! with a connection pool for reads.

use std::net::SocketAddr;
use std::sync::Arc;

use haft_sandbox::{AddressGuard, CheckedUrl};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder};
use tokio::sync::OnceCell;

use super::connection_reuse::{ConnectTurn, KEPT};
use super::sending::{Announce, Sending};
use super::{DnsLookup, HttpResponse, Outgoing, RequestFailure, addresses, exchange};
use crate::failure::blocking;

/// A client for one request to checked addresses.
pub(super) fn once(
    addresses: Vec<SocketAddr>,
    sending: Arc<Sending>,
    trust: Trust,
) -> Result<Client, reqwest::Error> {
    let announce = Announce(Arc::new(ConnectTurn::first(sending)));
    let builder = plainest(trust).pool_max_idle_per_host(0);
    builder.dns_resolver(PinnedResolver(addresses)).connector_layer(announce).build()
}

/// A client that connects once, for its first request, and keeps that connection briefly.
pub(super) fn kept(
    addresses: Vec<SocketAddr>,
    turn: Arc<ConnectTurn>,
    trust: Trust,
) -> Result<Client, reqwest::Error> {
    let builder = plainest(trust).pool_max_idle_per_host(1).pool_idle_timeout(KEPT * 2);
    builder.dns_resolver(PinnedResolver(addresses)).connector_layer(Announce(turn)).build()
}

/// The root certificates of a client.
#[derive(Clone, Copy)]
pub(super) enum Trust {
    /// The system's.
    System,
    /// None, for plain HTTP; loading the system's takes milliseconds.
    Nobody,
}

impl Trust {
    pub(super) fn of(url: &CheckedUrl) -> Trust {
        if url.is_plain() { Trust::Nobody } else { Trust::System }
    }
}

/// A builder without proxy, redirects, retries or referer.
fn plainest(trust: Trust) -> ClientBuilder {
    let builder = match trust {
        Trust::System => Client::builder(),
        Trust::Nobody => Client::builder().tls_certs_only([]),
    };
    builder
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
}

/// A resolver that returns the pinned addresses for any name.
struct PinnedResolver(Vec<SocketAddr>);

impl Resolve for PinnedResolver {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

/// A connection pool to one host, for reads.
#[derive(Debug, Default)]
pub(crate) struct Pool(OnceCell<Client>);

impl Pool {
    /// Sends a read. All requests of a pool go to the same host.
    pub(crate) async fn send(
        &self,
        guard: &AddressGuard,
        lookup: DnsLookup,
        request: Outgoing,
    ) -> Result<HttpResponse<'static>, RequestFailure> {
        let client = self.0.get_or_try_init(|| keeping(guard, lookup, &request.url));
        Ok(exchange(client.await?, request).await?.into())
    }
}

/// A client for one host that reuses its connections.
pub(crate) async fn keeping(
    guard: &AddressGuard,
    lookup: DnsLookup,
    url: &CheckedUrl,
) -> Result<Client, RequestFailure> {
    built(guard, lookup, url, usize::MAX).await
}

/// A client for one host that opens a connection per request, so it never resends one by itself.
pub(crate) async fn reconnecting(
    guard: &AddressGuard,
    lookup: DnsLookup,
    url: &CheckedUrl,
) -> Result<Client, RequestFailure> {
    built(guard, lookup, url, 0).await
}

async fn built(
    guard: &AddressGuard,
    lookup: DnsLookup,
    url: &CheckedUrl,
    most_idle: usize,
) -> Result<Client, RequestFailure> {
    let known = PooledHost { guard: guard.clone(), url: url.clone(), lookup };
    let builder = plainest(Trust::of(url)).pool_max_idle_per_host(most_idle);
    let built = blocking(move || builder.dns_resolver(known).build()).await;
    built.map_err(RequestFailure::Stopped)?.map_err(|_| RequestFailure::Unready)
}

/// The host of a pool. Its name is resolved and checked for each connection.
struct PooledHost {
    guard: AddressGuard,
    url: CheckedUrl,
    lookup: DnsLookup,
}

impl Resolve for PooledHost {
    fn resolve(&self, _: Name) -> Resolving {
        let (guard, url, lookup) = (self.guard.clone(), self.url.clone(), self.lookup);
        Box::pin(async move {
            match addresses(&guard, lookup, &url).await {
                Ok(found) => Ok(Box::new(found.into_iter()) as Addrs),
                Err(RequestFailure::Forbidden(forbidden)) => Err(forbidden.into()),
                Err(_) => Err("the name cannot be looked up".into()),
            }
        })
    }
}
