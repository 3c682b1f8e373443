//! Address guard: blocks SSRF by checking each URL as written, and each address that DNS resolves.

use std::collections::BTreeSet;
use std::net::IpAddr;

use haft_model::web::{Host, Url};

use crate::ranges;

/// Decides which addresses may be reached. Every address that is not public is blocked, unless it
/// was opened.
///
/// Both checks are needed. [`AddressGuard::check_url`] knows every spelling of an address, but a
/// name may resolve to any address; [`AddressGuard::check_addresses`] sees the resolved addresses,
/// but HTTP clients do not look up a host that is an address already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressGuard {
    opened: BTreeSet<(String, u16)>,
}

/// An HTTP or HTTPS URL without credentials, whose host is not known to be blocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedUrl {
    url: Url,
    host: String,
    port: u16,
}

/// Why a URL or address may not be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// The URL does not parse.
    #[error("the url cannot be read: {0}")]
    Malformed(String),
    /// The scheme is neither HTTP nor HTTPS.
    #[error("only http and https are spoken, not `{0}`")]
    Scheme(String),
    /// The URL holds a user name or a password; the message does not repeat it.
    #[error("a url must not hold a user name or a password")]
    Credentials,
    /// The host is, or resolves to, a blocked address.
    #[error("`{host}` may not be reached: it is {what}")]
    Address {
        /// The host as in the URL.
        host: String,
        /// The kind of address, as part of a sentence.
        what: &'static str,
    },
    /// The host name resolves to no address.
    #[error("`{0}` stands for no address")]
    Nowhere(String),
}

impl AddressGuard {
    /// Allows public addresses only.
    pub fn public() -> AddressGuard {
        AddressGuard::default()
    }

    /// Opens one host and port as well, whatever its address.
    pub fn allowing(mut self, host: &str, port: u16) -> AddressGuard {
        // Normalized as in a URL, so that the two compare equal.
        let host = Host::parse(host).map_or_else(|_| host.to_owned(), |host| host.to_string());
        self.opened.insert((plain(&host).to_owned(), port));
        self
    }

    /// Parses a URL that a person or the operator named, and opens its host whatever the address.
    pub fn named(text: &str) -> Result<CheckedUrl, Forbidden> {
        let url = Url::parse(text).map_err(|fault| Forbidden::Malformed(fault.to_string()))?;
        let guard = match (url.host_str(), url.port_or_known_default()) {
            (Some(host), Some(port)) => AddressGuard::public().allowing(host, port),
            (None, _) | (_, None) => AddressGuard::public(),
        };
        guard.check(url)
    }

    /// Parses a URL and checks what is known without a DNS lookup.
    pub fn check_url(&self, text: &str) -> Result<CheckedUrl, Forbidden> {
        let url = Url::parse(text).map_err(|fault| Forbidden::Malformed(fault.to_string()))?;
        self.check(url)
    }

    /// Checks a URL relative to another one, such as a redirect.
    pub fn check_next(&self, from: &CheckedUrl, text: &str) -> Result<CheckedUrl, Forbidden> {
        let url = from.url.join(text).map_err(|fault| Forbidden::Malformed(fault.to_string()))?;
        self.check(url)
    }

    /// Checks every address that a URL's host resolves to. One blocked address blocks all, because
    /// the DNS server decides which of them is used.
    pub fn check_addresses(&self, url: &CheckedUrl, addresses: &[IpAddr]) -> Result<(), Forbidden> {
        if addresses.is_empty() {
            return Err(Forbidden::Nowhere(url.host.clone()));
        }
        if self.is_opened(url) {
            return Ok(());
        }
        match addresses.iter().find_map(|address| ranges::closed(*address)) {
            Some(what) => Err(Forbidden::Address { host: url.host.clone(), what }),
            None => Ok(()),
        }
    }

    fn check(&self, url: Url) -> Result<CheckedUrl, Forbidden> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Forbidden::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Forbidden::Credentials);
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(Forbidden::Malformed("it names no host".to_owned()));
        };
        let what = match host {
            Host::Ipv4(address) => ranges::closed(IpAddr::V4(address)),
            Host::Ipv6(address) => ranges::closed(IpAddr::V6(address)),
            Host::Domain(name) => is_local(name).then_some("this machine"),
        };
        let checked = CheckedUrl { host: host.to_string(), port, url };
        match what.filter(|_| !self.is_opened(&checked)) {
            Some(what) => Err(Forbidden::Address { host: checked.host, what }),
            None => Ok(checked),
        }
    }

    fn is_opened(&self, url: &CheckedUrl) -> bool {
        self.opened.contains(&(plain(&url.host).to_owned(), url.port))
    }
}

impl CheckedUrl {
    /// The URL as it is sent.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Another path and query at the same host. Neither can lead to another host, so there is
    /// nothing to check.
    pub fn at(&self, path: &str, query: Option<&str>) -> CheckedUrl {
        let mut url = self.url.clone();
        url.set_path(path);
        url.set_query(query);
        CheckedUrl { url, host: self.host.clone(), port: self.port }
    }

    /// The path, without the query.
    pub fn path(&self) -> &str {
        self.url.path()
    }

    /// The parsed URL, for a client that takes one.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Converts into the parsed URL.
    pub fn into_url(self) -> Url {
        self.url
    }

    /// The host: a name, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, explicit or the scheme's default.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether the URL is plain HTTP, without TLS.
    pub fn is_plain(&self) -> bool {
        self.url.scheme() == "http"
    }

    /// Whether the host is a name, which needs a DNS lookup.
    pub fn is_name(&self) -> bool {
        matches!(self.url.host(), Some(Host::Domain(_)))
    }
}

impl Forbidden {
    /// Whether the address is blocked; false if the URL itself is malformed or unresolvable.
    pub fn is_address(&self) -> bool {
        match self {
            Forbidden::Address { .. } => true,
            Forbidden::Malformed(_)
            | Forbidden::Scheme(_)
            | Forbidden::Credentials
            | Forbidden::Nowhere(_) => false,
        }
    }
}

/// A host name without its trailing dot; `localhost.` is `localhost`.
fn plain(host: &str) -> &str {
    host.trim_end_matches('.')
}

/// Whether a name always means this machine.
fn is_local(name: &str) -> bool {
    let name = plain(name);
    name.is_empty() || name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests;
