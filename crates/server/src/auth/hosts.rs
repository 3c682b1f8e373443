//! By which names we are called, and from which pages.

use std::net::{IpAddr, SocketAddr};

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};

/// What this machine calls itself.
const OURS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The names that a request may be addressed to. A page of somebody else whose name was made to point
/// at us gives itself away by it.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    known: Vec<String>,
    /// Whether any address in numbers will do: nobody can make one point elsewhere.
    numbers: bool,
}

impl Names {
    /// The names of a server that listens at an address, and others that it was given.
    pub(crate) fn new(address: SocketAddr, given: &[String]) -> Names {
        let own = SocketAddr::new(address.ip(), 0).to_string();
        let own = own.trim_end_matches(":0").to_owned();
        let ours = OURS.into_iter().map(str::to_owned).chain([own]);
        let known = ours.chain(given.iter().map(|name| name.to_ascii_lowercase())).collect();
        Names { known, numbers: !address.ip().is_loopback() }
    }

    /// Whether a request is addressed to us, and from a page of ours if it is from a page.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), String> {
        let named = headers.get(header::HOST).map(|value| value.to_str().unwrap_or_default());
        let target = uri.authority().map(Authority::as_str);
        let hosts: Vec<&str> = named.into_iter().chain(target).collect();
        if hosts.is_empty() {
            return Err("say whom you mean: `Host` is missing".to_owned());
        }
        if let Some(other) = hosts.iter().find(|host| !self.has(host)) {
            let shown: String = other.chars().take(100).collect();
            return Err(format!("`{shown}` is not us; `hosts` of [server] in haft.toml names us"));
        }
        for origin in headers.get_all(header::ORIGIN) {
            let text = origin.to_str().unwrap_or_default();
            let page = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
            if !page.is_some_and(|host| self.has(host)) {
                return Err("a page from elsewhere cannot call us".to_owned());
            }
        }
        Ok(())
    }

    /// Whether this is a name of ours, with a port or without.
    fn has(&self, text: &str) -> bool {
        let Ok(authority) = text.parse::<Authority>() else { return false };
        let port = text.strip_prefix(authority.host()).unwrap_or("@");
        let is_port = |port: &str| port.strip_prefix(':').is_some_and(|n| n.parse::<u16>().is_ok());
        if !port.is_empty() && !is_port(port) {
            return false;
        }
        let host = authority.host().to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        self.known.contains(&host) || (self.numbers && bare.parse::<IpAddr>().is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str, given: &[&str]) -> Names {
        let given: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
        Names::new(address.parse().unwrap(), &given)
    }

    #[test]
    fn on_this_machine_only_its_own_names_count() {
        let names = of("127.0.0.1:7311", &[]);
        for ours in ["localhost", "LocalHost:7311", "127.0.0.1:1", "[::1]:7311"] {
            assert!(names.has(ours), "{ours}");
        }
        for others in
            ["evil.example", "10.0.0.1", "localhost.evil.example", "a@localhost", "", "localhost:x"]
        {
            assert!(!names.has(others), "{others}");
        }
    }

    #[test]
    fn elsewhere_the_given_names_and_numbers_count() {
        let names = of("0.0.0.0:7311", &["Tools.example"]);
        for ours in ["tools.example", "TOOLS.example:443", "10.0.0.1:7311", "[2001:db8::1]"] {
            assert!(names.has(ours), "{ours}");
        }
        assert!(!names.has("other.example"));
    }
}
