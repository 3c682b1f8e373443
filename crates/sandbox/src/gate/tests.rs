//! Tests of the egress allowlist: which hosts an entry opens, and how spellings are normalized.

use super::*;

#[test]
fn allowlisted_host_opens_its_port_or_default_ports() {
    for (listed, host, port, expected) in [
        ("a.example", "a.example", 443, true),
        ("a.example", "a.example", 80, true),
        ("a.example", "a.example", 8443, false),
        ("a.example:8443", "a.example", 8443, true),
        ("a.example:8443", "a.example", 8443, true),
        ("a.example:8443", "a.example", 443, false),
        ("*.example", "a.example", 443, true),
        ("*.example", "b.a.example", 443, false),
        ("*.example:8443", "a.example", 8443, true),
        ("[::1]:99", "[::1]", 99, true),
        ("a.example:none", "a.example", 443, false),
    ] {
        let whom = Whom { host: host.to_owned(), port };
        assert_eq!(opens(listed, &whom), expected, "{listed} {whom}");
    }
}

#[test]
fn every_spelling_of_a_host_is_read_as_one() {
    for (text, usual, expected) in [
        ("A.Example:443", None, Some("a.example:443")),
        ("a.example.:443", None, Some("a.example:443")),
        ("a.example", Some(80), Some("a.example:80")),
        ("2130706433:80", None, Some("127.0.0.1:80")),
        ("0x7f000001:80", None, Some("127.0.0.1:80")),
        ("0177.1:80", None, Some("127.0.0.1:80")),
        ("[0:0::1]:80", None, Some("[::1]:80")),
        ("%6c%6fcalhost:80", None, Some("localhost:80")),
        ("a.example", None, None),
        ("a.example:", None, None),
        ("a.example:0", None, None),
        ("a.example:65536", None, None),
        ("a.example:+80", None, None),
        ("a.example:80:90", None, None),
        ("[::1]x:80", None, None),
        ("user@a.example:80", None, None),
        ("a.example/b:80", None, None),
        ("a.example\\b:80", None, None),
        (":80", None, None),
        (".:80", None, None),
        ("", Some(80), None),
    ] {
        let read = Whom::read(text, usual).map(|whom| whom.to_string());
        assert_eq!(read.as_deref(), expected, "{text}");
    }
}
