//! The addresses that may be reached: checked as written, and again once a name has become addresses.

use std::collections::BTreeSet;
use std::net::IpAddr;

use haft_model::web::{Host, Url};

use crate::ranges;

/// Says which addresses may be reached. Whatever is not public is closed, unless it was opened.
///
/// Both checks are needed. [`AddressGuard::check_url`] knows every spelling of an address, but a
/// name may stand for any address; [`AddressGuard::check_addresses`] sees what a name stands for,
/// but HTTP clients do not look up a host that is an address already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressGuard {
    opened: BTreeSet<(String, u16)>,
}

/// A URL whose scheme is HTTP, that carries no credentials, and whose host is not known to be closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedUrl {
    url: Url,
    host: String,
    port: u16,
}

/// Why an address may not be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// It cannot be read.
    #[error("the url cannot be read: {0}")]
    Malformed(String),
    /// It is of another protocol.
    #[error("only http and https are spoken, not `{0}`")]
    Scheme(String),
    /// It holds a user name or a password; the text is not repeated.
    #[error("a url must not hold a user name or a password")]
    Credentials,
    /// Its host is, or stands for, an address that is closed.
    #[error("`{host}` may not be reached: it is {what}")]
    Address {
        /// The host as the URL has it.
        host: String,
        /// What it is instead of public.
        what: &'static str,
    },
    /// Its name stands for no address at all.
    #[error("`{0}` stands for no address")]
    Nowhere(String),
}

impl AddressGuard {
    /// Only public addresses.
    pub fn public() -> AddressGuard {
        AddressGuard::default()
    }

    /// Opens one host and port as well, whatever its address is.
    pub fn allowing(mut self, host: &str, port: u16) -> AddressGuard {
        // The same spelling as in a URL, so that the two can be compared.
        let host = Host::parse(host).map_or_else(|_| host.to_owned(), |host| host.to_string());
        self.opened.insert((plain(&host).to_owned(), port));
        self
    }

    /// Reads a URL that somebody who may open addresses has named, whatever its address is.
    pub fn named(text: &str) -> Result<CheckedUrl, Forbidden> {
        let url = Url::parse(text).map_err(|fault| Forbidden::Malformed(fault.to_string()))?;
        let guard = match (url.host_str(), url.port_or_known_default()) {
            (Some(host), Some(port)) => AddressGuard::public().allowing(host, port),
            (None, _) | (_, None) => AddressGuard::public(),
        };
        guard.check(url)
    }

    /// Reads a URL and checks what can be told without looking its host up.
    pub fn check_url(&self, text: &str) -> Result<CheckedUrl, Forbidden> {
        let url = Url::parse(text).map_err(|fault| Forbidden::Malformed(fault.to_string()))?;
        self.check(url)
    }

    /// Checks where a URL leads that was read on a page at another one, as in a redirect.
    pub fn check_next(&self, from: &CheckedUrl, text: &str) -> Result<CheckedUrl, Forbidden> {
        let url = from.url.join(text).map_err(|fault| Forbidden::Malformed(fault.to_string()))?;
        self.check(url)
    }

    /// Checks every address that the host of a URL stands for. One that is closed closes all: whoever
    /// answers for the name decides which of them is used.
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

    /// Another place at the same host, by its path and what is asked for there. Neither can lead
    /// elsewhere, so there is nothing to check.
    pub fn at(&self, path: &str, query: Option<&str>) -> CheckedUrl {
        let mut url = self.url.clone();
        url.set_path(path);
        url.set_query(query);
        CheckedUrl { url, host: self.host.clone(), port: self.port }
    }

    /// The path of it, without what is asked for there.
    pub fn path(&self) -> &str {
        self.url.path()
    }

    /// The same, for a client that would read it once more.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The same, for good.
    pub fn into_url(self) -> Url {
        self.url
    }

    /// Its host: a name, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its port, also where the scheme implies it.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it is sent in the open, without TLS.
    pub fn is_plain(&self) -> bool {
        self.url.scheme() == "http"
    }

    /// Whether the host is a name, which has to be looked up.
    pub fn is_name(&self) -> bool {
        matches!(self.url.host(), Some(Host::Domain(_)))
    }
}

impl Forbidden {
    /// Whether the address is at fault, and not the way it is written.
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

/// A name without the dot that may end it; `localhost.` is `localhost`.
fn plain(host: &str) -> &str {
    host.trim_end_matches('.')
}

/// Names that stand for this machine wherever they are looked up.
fn is_local(name: &str) -> bool {
    let name = plain(name);
    name.is_empty() || name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests;
