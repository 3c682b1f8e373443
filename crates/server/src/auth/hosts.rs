//! Host and origin check: which `Host` names and `Origin` pages a request may come with.

use std::net::{IpAddr, SocketAddr};

use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri, header};

/// Loopback names of this machine.
const OURS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Allowed hosts. A foreign page whose name was rebound to our address still sends its own name.
#[derive(Clone, Debug)]
pub(crate) struct AllowedHosts {
    /// Loopback names and the listen address.
    own: Vec<String>,
    /// External names from the settings, where a proxy terminates TLS for us.
    given: Vec<String>,
    /// Whether any IP address is allowed as a host: DNS cannot rebind one.
    numbers: bool,
}

/// Why a request is refused as foreign.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    pub(crate) status: StatusCode,
    pub(crate) words: String,
}

impl Foreign {
    /// It is addressed to another host, or comes from another origin.
    fn elsewhere(words: impl Into<String>) -> Foreign {
        Foreign { status: StatusCode::FORBIDDEN, words: words.into() }
    }

    /// Its host is ambiguous: two parsers could disagree.
    fn ambiguous(words: &str) -> Foreign {
        Foreign { status: StatusCode::BAD_REQUEST, words: words.to_owned() }
    }
}

/// A host name and an optional port.
struct HostPort {
    host: String,
    port: Option<u16>,
}

impl HostPort {
    fn read(text: &str) -> Option<HostPort> {
        let authority = text.parse::<Authority>().ok()?;
        let port = match text.strip_prefix(authority.host())? {
            "" => None,
            port => Some(port.strip_prefix(':')?.parse().ok()?),
        };
        Some(HostPort { host: authority.host().to_ascii_lowercase(), port })
    }
}

impl AllowedHosts {
    /// The hosts of a server: its listen address and configured names.
    pub(crate) fn new(address: SocketAddr, given: &[String]) -> AllowedHosts {
        let own = SocketAddr::new(address.ip(), 0).to_string();
        let own = own.trim_end_matches(":0").to_owned();
        let own = OURS.into_iter().map(str::to_owned).chain([own]).collect();
        let given = given.iter().map(|name| name.to_ascii_lowercase()).collect();
        AllowedHosts { own, given, numbers: !address.ip().is_loopback() }
    }

    /// Checks that a request is addressed to us and, if it has an origin, comes from a page of
    /// ours.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Foreign> {
        let mut named = headers.get_all(header::HOST).iter();
        let host = named.next().map(|value| value.to_str().unwrap_or_default());
        if named.next().is_some() {
            return Err(Foreign::ambiguous("one `Host` header is enough"));
        }
        let target = uri.authority().map(Authority::as_str);
        if let (Some(host), Some(target)) = (host, target)
            && !host.eq_ignore_ascii_case(target)
        {
            return Err(Foreign::ambiguous("`Host` and the address of the request differ"));
        }
        let Some(host) = host.or(target) else {
            return Err(Foreign::elsewhere("say whom you mean: `Host` is missing"));
        };
        let Some(place) = HostPort::read(host).filter(|place| self.has(&place.host)) else {
            let shown: String = host.chars().take(100).collect();
            let words = format!("`{shown}` is not us; `hosts` of [server] in haft.toml names us");
            return Err(Foreign::elsewhere(words));
        };
        let mut pages = headers.get_all(header::ORIGIN).iter();
        let page = pages.next().map(|page| page.to_str().unwrap_or_default());
        let ours = page.is_none_or(|page| self.is_own_page(page, &place));
        match ours && pages.next().is_none() {
            true => Ok(()),
            false => Err(Foreign::elsewhere("a page from elsewhere cannot call us")),
        }
    }

    /// Whether an origin is ours: of the scheme, name and port that the request is addressed to, or
    /// of a configured name, which a proxy serves over TLS.
    fn is_own_page(&self, origin: &str, addressed: &HostPort) -> bool {
        let (text, usual) = match (origin.strip_prefix("http://"), origin.strip_prefix("https://"))
        {
            (Some(text), _) => (text, 80),
            (_, Some(text)) => (text, 443),
            (None, None) => return false,
        };
        let Some(page) = HostPort::read(text) else { return false };
        let given = self.given.contains(&page.host);
        // We speak no TLS ourselves, so no local page has it.
        let spoken = usual == 80 || given || (self.numbers && !self.own.contains(&page.host));
        let port = page.port.unwrap_or(usual);
        let same = page.host == addressed.host && port == addressed.port.unwrap_or(usual);
        (spoken && same) || (given && usual == 443 && port == 443)
    }

    /// Whether a host is allowed.
    fn has(&self, host: &str) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let known = |names: &[String]| names.iter().any(|name| name == host);
        known(&self.own) || known(&self.given) || (self.numbers && bare.parse::<IpAddr>().is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str, given: &[&str]) -> AllowedHosts {
        let given: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
        AllowedHosts::new(address.parse().unwrap(), &given)
    }

    /// The status of a refused request; 200 for an admitted one.
    fn status(names: &AllowedHosts, target: &str, lines: &[(&str, &str)]) -> u16 {
        let mut request = axum::http::Request::builder().uri(target);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        names
            .check(&head.uri, &head.headers)
            .map_or_else(|foreign| foreign.status.as_u16(), |()| 200)
    }

    #[test]
    fn on_this_machine_only_its_own_names_count() {
        let names = of("127.0.0.1:7311", &[]);
        let by = |host: &str| status(&names, "/v1/health", &[("host", host)]);
        for ours in ["localhost", "LocalHost:7311", "127.0.0.1:1", "[::1]:7311"] {
            assert_eq!(by(ours), 200, "{ours}");
        }
        for others in
            ["evil.example", "10.0.0.1", "localhost.evil.example", "a@localhost", "", "localhost:x"]
        {
            assert_eq!(by(others), 403, "{others}");
        }
    }

    #[test]
    fn elsewhere_the_given_names_and_numbers_count() {
        let names = of("0.0.0.0:7311", &["Tools.example"]);
        let by = |host: &str| status(&names, "/v1/health", &[("host", host)]);
        for ours in ["tools.example", "TOOLS.example:443", "10.0.0.1:7311", "[2001:db8::1]"] {
            assert_eq!(by(ours), 200, "{ours}");
        }
        assert_eq!(by("other.example"), 403);
    }

    #[test]
    fn request_of_two_addresses_is_refused() {
        let names = of("127.0.0.1:7311", &[]);
        let host = ("host", "localhost:7311");
        assert_eq!(status(&names, "http://localhost:7311/mcp", &[host]), 200);
        assert_eq!(status(&names, "http://localhost:7311/mcp", &[]), 200);
        for (target, lines) in [
            ("/mcp", vec![host, host]),
            ("/mcp", vec![host, ("host", "evil.example")]),
            ("/mcp", vec![("host", "evil.example"), host]),
            ("http://127.0.0.1:7311/mcp", vec![host]),
            ("http://localhost/mcp", vec![host]),
            ("http://evil.example/mcp", vec![host]),
        ] {
            assert_eq!(status(&names, target, &lines), 400, "{target} {lines:?}");
        }
        assert_eq!(status(&names, "/mcp", &[]), 403);
    }

    #[test]
    fn page_counts_by_scheme_name_and_port() {
        let machine = of("127.0.0.1:7311", &[]);
        let outside = of("0.0.0.0:7311", &["tools.example"]);
        for (names, host, origin, ours) in [
            (&machine, "localhost:7311", "http://localhost:7311", true),
            (&machine, "LOCALHOST:7311", "http://localhost:7311", true),
            (&machine, "localhost", "http://localhost:80", true),
            (&machine, "localhost:7311", "http://localhost:8080", false),
            (&machine, "localhost:7311", "http://localhost", false),
            (&machine, "localhost:7311", "https://localhost:7311", false),
            (&machine, "localhost:7311", "http://127.0.0.1:7311", false),
            (&machine, "localhost:7311", "null", false),
            (&machine, "localhost:7311", "", false),
            (&machine, "localhost:7311", "http://a@localhost:7311", false),
            (&machine, "localhost:7311", "http://localhost:7311/", false),
            (&outside, "tools.example", "https://tools.example", true),
            (&outside, "tools.example:8443", "https://tools.example:8443", true),
            (&outside, "127.0.0.1:7311", "https://tools.example", true),
            (&outside, "tools.example", "https://tools.example:8443", false),
            (&outside, "tools.example:7311", "http://tools.example:7311", true),
            (&outside, "10.0.0.1:7311", "http://10.0.0.1:7311", true),
            (&outside, "10.0.0.1:7311", "http://10.0.0.2:7311", false),
        ] {
            let status = status(names, "/mcp", &[("host", host), ("origin", origin)]);
            assert_eq!(status == 200, ours, "{origin} at {host}");
        }
        let twice = [
            ("host", "localhost:7311"),
            ("origin", "http://localhost:7311"),
            ("origin", "http://localhost:7311"),
        ];
        assert_eq!(status(&machine, "/mcp", &twice), 403);
    }
}
