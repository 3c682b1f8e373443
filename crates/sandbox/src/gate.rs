//! Egress gate: an allowlist of hosts and ports, and the HTTP proxy that enforces it.
//!
//! The sandbox's network namespace holds nothing but the proxy. The proxy resolves each name
//! itself, once, and connects to the very addresses that it checked, so the program cannot redirect
//! a connection.

mod carry;
mod request;
mod serve;
mod tally;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

use haft_model::host::{covers, is_own, name_of};
use haft_model::web::Host;
use tokio::time::timeout;

use crate::{AddressGuard, Forbidden};

pub(crate) use serve::serve;
pub use tally::HostTraffic;
pub(crate) use tally::{MOST_TRIED, TrafficBook};

/// Timeout of each DNS lookup, connection and request head.
const PATIENCE: Duration = Duration::from_secs(10);

/// The ports of a host that is listed without one.
const USUAL: [u16; 2] = [80, 443];

type EgressLookup = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// The egress allowlist of a confined program; every other connection is refused and reported.
#[derive(Clone, Debug)]
pub struct Gate {
    hosts: Vec<String>,
    guard: AddressGuard,
    lookup: EgressLookup,
}

/// How a program reaches a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EgressMethod {
    /// `CONNECT`: a tunnel that is passed on unread.
    Tunnel,
    /// One plain HTTP request.
    Plain,
}

/// A host and port in the normalized spelling that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Whom {
    host: String,
    port: u16,
}

/// Why a host is not reached.
#[derive(Debug, PartialEq, Eq)]
enum EgressRefusal {
    /// The allowlist or the guard refused it.
    Refused(String),
    /// Its name did not resolve.
    Absent(String),
}

impl Gate {
    /// Opens these hosts: `host`, `host:port` or `*.host`, where the star is one label. Without a
    /// port, 80 and 443 are open, and no other.
    ///
    /// The guard must allow their addresses, unless a host of a private network is listed as such:
    /// by its address, or by a name that can mean nothing else.
    pub fn new(hosts: Vec<String>, guard: AddressGuard) -> Gate {
        let hosts: Vec<_> = hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect();
        let own = hosts.iter().map(|listed| split(listed)).filter(|(name, _)| is_own(name));
        let guard = own.fold(guard, |guard, (name, port)| match port {
            Some(port) => guard.allowing(name, port),
            None => USUAL.into_iter().fold(guard, |guard, port| guard.allowing(name, port)),
        });
        Gate { hosts, guard, lookup: by_the_system }
    }

    /// Replaces the DNS lookup of the system.
    pub fn looking_up(self, lookup: fn(&str, u16) -> io::Result<Vec<SocketAddr>>) -> Gate {
        Gate { lookup, ..self }
    }

    /// Resolves a host that may be reached; the guard checked every address.
    async fn admit(&self, whom: &Whom) -> Result<Vec<SocketAddr>, EgressRefusal> {
        if !self.hosts.iter().any(|listed| opens(listed, whom)) {
            return Err(EgressRefusal::Refused("it is not on the list of hosts".to_owned()));
        }
        let forbidden = |forbidden: Forbidden| match forbidden {
            Forbidden::Address { what, .. } => EgressRefusal::Refused(format!("it is {what}")),
            other => EgressRefusal::Refused(other.to_string()),
        };
        let url = self.guard.check_url(&whom.url()).map_err(forbidden)?;
        let addresses = self.looked_up(whom).await?;
        let plain: Vec<_> = addresses.iter().map(SocketAddr::ip).collect();
        self.guard.check_addresses(&url, &plain).map_err(forbidden)?;
        Ok(addresses)
    }

    async fn looked_up(&self, whom: &Whom) -> Result<Vec<SocketAddr>, EgressRefusal> {
        let (lookup, asked) = (self.lookup, whom.clone());
        let bare = |host: &str| host.trim_matches(['[', ']']).to_owned();
        let looking = tokio::task::spawn_blocking(move || lookup(&bare(&asked.host), asked.port));
        let found = match timeout(PATIENCE, looking).await {
            Ok(Ok(Ok(found))) if !found.is_empty() => found,
            Ok(Ok(Ok(_))) => return Err(whom.absent("it stands for no address")),
            Ok(Ok(Err(fault))) => return Err(whom.absent(&fault.to_string())),
            Ok(Err(fault)) => return Err(whom.absent(&fault.to_string())),
            Err(_) => return Err(whom.absent("the name lookup timed out")),
        };
        // The DNS answer does not choose the port.
        Ok(found.into_iter().map(|address| SocketAddr::new(address.ip(), whom.port)).collect())
    }
}

impl Whom {
    /// Parses `host:port`, in any spelling of an address. Without a port it takes `usual`, if
    /// given.
    fn read(authority: &str, usual: Option<u16>) -> Option<Whom> {
        let strange = |letter: char| letter.is_whitespace() || "/?#@\\".contains(letter);
        if authority.is_empty() || authority.contains(strange) {
            return None;
        }
        let name = name_of(authority);
        let port = match authority.strip_prefix(name)?.strip_prefix(':') {
            Some(port) if port.bytes().all(|digit| digit.is_ascii_digit()) => port.parse().ok()?,
            Some(_) => return None,
            None => usual?,
        };
        let host = Host::parse(name).ok()?.to_string();
        let host = host.trim_end_matches('.').to_owned();
        (!host.is_empty() && port != 0).then_some(Whom { host, port })
    }

    fn url(&self) -> String {
        format!("http://{self}/")
    }

    fn absent(&self, why: &str) -> EgressRefusal {
        EgressRefusal::Absent(format!("`{self}` cannot be reached: {why}"))
    }
}

impl std::fmt::Display for Whom {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

/// Whether a listed host covers this host and port.
fn opens(listed: &str, whom: &Whom) -> bool {
    let (name, port) = split(listed);
    let open = port.map_or(USUAL.contains(&whom.port), |port| port == whom.port);
    open && covers(name, &whom.host)
}

/// A listed host and its port. A port that is no number opens nothing.
fn split(listed: &str) -> (&str, Option<u16>) {
    let name = name_of(listed);
    match listed.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')) {
        Some(port) => (name, Some(port.parse().unwrap_or_default())),
        None => (name, None),
    }
}

fn by_the_system(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((name, port).to_socket_addrs()?.collect())
}

#[cfg(test)]
mod tests;
