//! Host patterns: `host`, `host:port`, `*.host` or `*`, as manifests list them.

/// A host without its port; an IPv6 address keeps its brackets.
pub fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, _)) if !host.ends_with(']') => name,
        _ => host,
    }
}

/// Whether a listed host covers one: `*`, the host with or without its port, or `*.` one label.
pub fn covers(listed: &str, host: &str) -> bool {
    let name = name_of(host);
    listed == "*"
        || listed == host
        || listed == name
        || listed.strip_prefix("*.").is_some_and(|suffix| {
            name.strip_suffix(suffix)
                .and_then(|label| label.strip_suffix('.'))
                .is_some_and(|label| !label.is_empty() && !label.contains('.'))
        })
}

/// Whether a host name, without a port, can only denote a host of the local network.
pub fn is_internal(name: &str) -> bool {
    !name.contains('.') || name.ends_with(".internal") || name.ends_with(".local")
}

/// Whether a name, without a port, denotes a host of the local network by itself: an IP address, or
/// a name that can mean nothing else.
pub fn is_own(name: &str) -> bool {
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_address = address.parse::<std::net::IpAddr>().is_ok();
    is_address || (!name.contains('*') && is_internal(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowlisted_host_covers_ports_and_star_one_label() {
        for (listed, host, expected) in [
            ("*", "a.example:443", true),
            ("a.example", "a.example:443", true),
            ("a.example:443", "a.example:443", true),
            ("a.example:443", "a.example:444", false),
            ("*.example", "a.example:443", true),
            ("*.example", "b.a.example:443", false),
            ("*.example", "example:443", false),
            ("[::1]", "[::1]:80", true),
            ("example", "notexample:80", false),
        ] {
            assert_eq!(covers(listed, host), expected, "{listed} {host}");
        }
    }
}
