//! URL hosts: extracts the host of a URL and tells loopback and private addresses apart.

use std::net::IpAddr;

use haft_model::host::{is_internal, name_of};

/// The host of a URL, with its port.
pub fn host_of(url: &str) -> Option<&str> {
    let rest = url.split_once("://")?.1;
    // Web clients read a backslash as a slash; so must we, or a host could hide behind one.
    let authority = rest.split(['/', '\\', '?', '#']).next()?;
    Some(authority.rsplit('@').next().unwrap_or(authority)).filter(|host| !host.is_empty())
}

/// Whether a host, with or without a port, is this machine.
pub fn is_loopback(host: &str) -> bool {
    let name = name_of(host);
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a host, with or without a port, has a private address or a name without dots.
pub fn is_private(host: &str) -> bool {
    let name = name_of(host);
    let second = name.split('.').nth(1).and_then(|part| part.parse::<u8>().ok());
    is_internal(name)
        || name.starts_with("10.")
        || name.starts_with("192.168.")
        || (name.starts_with("172.") && second.is_some_and(|second| (16..=31).contains(&second)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        let cases = [
            ("http://127.0.0.1:7311/x", true),
            ("http://127.9.9.9", true),
            ("http://localhost:80", true),
            ("http://[::1]/hook", true),
            ("http://[::1]:8080/hook", true),
            ("http://127.evil.example", false),
            ("http://localhost.evil.example", false),
            ("http://127.0.0.1@evil.example/", false),
            ("http://evil.example\\@127.0.0.1/", false),
            ("http://0.0.0.0", false),
            ("http://10.0.0.1", false),
        ];
        for (url, expected) in cases {
            assert_eq!(host_of(url).is_some_and(is_loopback), expected, "{url}");
        }
    }
}
