//! Tests of the address guard: every spelling of a blocked address is blocked, and nothing else.

use super::*;

fn refusal(url: &str) -> Option<Forbidden> {
    AddressGuard::public().check_url(url).err()
}

#[test]
fn a_closed_address_is_closed_in_every_spelling() {
    let closed = [
        "http://127.0.0.1/",
        "http://127.0.0.1./",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0x7f000001/",
        "http://017700000001/",
        "http://0177.0.0.1/",
        "http://%31%32%37.0.0.1/",
        "http://①②⑦.⓪.⓪.①/",
        "http://127。0。0。1/",
        "http:127.0.0.1",
        "http:\\\\127.0.0.1\\",
        "http://127.0.0.1:8080/",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::127.0.0.1]/",
        "http://[::ffff:0:127.0.0.1]/",
        "http://0x7f.0x0.0x0.0x1/",
        "http://00000177.0.0.1/",
        "http://[2002:7f00:1::]/",
        "http://[fd00:ec2::254]/",
        "http://[fe80::1]/",
        "http://0.0.0.0/",
        "http://0/",
        "http://10.0.0.1/",
        "http://100.64.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://2852039166/",
        "http://192.168.0.1/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://localhost/",
        "http://LOCALHOST/",
        "http://localhost./",
        "http://ⓛocalhost/",
        "http://a.localhost/",
        "https://a.b.localhost.:8443/",
    ];
    for url in closed {
        let refused = refusal(url);
        assert!(refused.as_ref().is_some_and(Forbidden::is_address), "{url}: {refused:?}");
    }
}

#[test]
fn non_plain_web_address_is_refused_with_reason() {
    let cases = [
        ("file:///etc/passwd", Forbidden::Scheme("file".into())),
        ("gopher://example.com/", Forbidden::Scheme("gopher".into())),
        ("ftp://example.com/", Forbidden::Scheme("ftp".into())),
        ("data:text/plain,x", Forbidden::Scheme("data".into())),
        ("http://name@example.com/", Forbidden::Credentials),
        ("http://:word@example.com/", Forbidden::Credentials),
        ("http://example.com@127.0.0.1/", Forbidden::Credentials),
        ("example.com", Forbidden::Malformed("relative URL without a base".into())),
        ("http://", Forbidden::Malformed("empty host".into())),
        ("http://1.2.3.4.5/", Forbidden::Malformed("invalid IPv4 address".into())),
        ("http://4294967296/", Forbidden::Malformed("invalid IPv4 address".into())),
        // An IPv6 zone id names a link of one machine and does not belong into a URL.
        ("http://[fe80::1%25eth0]/", Forbidden::Malformed("invalid IPv6 address".into())),
        ("http://[::1%lo]/", Forbidden::Malformed("invalid IPv6 address".into())),
        ("unix:///run/docker.sock", Forbidden::Scheme("unix".into())),
        ("dict://127.0.0.1:11211/", Forbidden::Scheme("dict".into())),
        ("ws://example.com/", Forbidden::Scheme("ws".into())),
    ];
    for (url, expected) in cases {
        assert_eq!(refusal(url), Some(expected), "{url}");
    }
}

#[test]
fn public_url_passes_and_yields_host_and_port() {
    let cases = [
        ("https://example.com", ("https://example.com/", "example.com", 443, true)),
        ("HTTP://Example.COM:8080/a", ("http://example.com:8080/a", "example.com", 8080, true)),
        (
            "http://münchen.example/",
            ("http://xn--mnchen-3ya.example/", "xn--mnchen-3ya.example", 80, true),
        ),
        ("http://0x08080808/", ("http://8.8.8.8/", "8.8.8.8", 80, false)),
        (
            "http://[2606:4700::1111]/",
            ("http://[2606:4700::1111]/", "[2606:4700::1111]", 80, false),
        ),
    ];
    for (url, expected) in cases {
        let checked = AddressGuard::public().check_url(url).unwrap();
        let seen = (checked.as_str(), checked.host(), checked.port(), checked.is_name());
        assert_eq!(seen, expected, "{url}");
    }
}

#[test]
fn one_closed_address_closes_a_name() {
    let guard = AddressGuard::public();
    let url = guard.check_url("http://rebound.example/").unwrap();
    let public: IpAddr = "8.8.8.8".parse().unwrap();
    let private: IpAddr = "10.0.0.1".parse().unwrap();
    assert_eq!(guard.check_addresses(&url, &[public]), Ok(()));
    let refused = guard.check_addresses(&url, &[public, private]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`rebound.example` may not be reached: it is a private address"
    );
    assert_eq!(guard.check_addresses(&url, &[]), Err(Forbidden::Nowhere("rebound.example".into())));
}

#[test]
fn opening_one_host_and_port_opens_no_other() {
    let guard = AddressGuard::public().allowing("127.0.0.1", 8080).allowing("localhost.", 9090);
    for open in ["http://127.0.0.1:8080/", "http://127.1:8080/", "http://localhost:9090/"] {
        let url = guard.check_url(open).unwrap();
        assert_eq!(guard.check_addresses(&url, &["127.0.0.1".parse().unwrap()]), Ok(()), "{open}");
    }
    for closed in ["http://127.0.0.1:8081/", "http://127.0.0.1/", "http://localhost:8080/"] {
        assert!(guard.check_url(closed).is_err(), "{closed}");
    }
    let other = guard.check_url("http://example.com:8080/").unwrap();
    assert!(guard.check_addresses(&other, &["127.0.0.1".parse().unwrap()]).is_err());
}

#[test]
fn path_on_checked_url_never_changes_host() {
    let base = AddressGuard::public().check_url("https://example.com:8443/v1?old=1").unwrap();
    assert_eq!(base.path(), "/v1");
    for (path, query, expected) in [
        ("/v1/a%2Fb", Some("q=%C3%A9&r"), "https://example.com:8443/v1/a%2Fb?q=%C3%A9&r"),
        ("//127.0.0.1/x", None, "https://example.com:8443//127.0.0.1/x"),
        ("\\\\127.0.0.1", None, "https://example.com:8443//127.0.0.1"),
        ("http://127.0.0.1/", None, "https://example.com:8443/http://127.0.0.1/"),
        ("@127.0.0.1:80/?x#y", None, "https://example.com:8443/@127.0.0.1:80/%3Fx%23y"),
        ("", Some("a#b"), "https://example.com:8443/?a%23b"),
    ] {
        let url = base.at(path, query);
        assert_eq!((url.as_str(), url.host(), url.port()), (expected, "example.com", 8443));
    }
}

#[test]
fn a_redirect_is_checked_like_a_url() {
    let guard = AddressGuard::public();
    let from = guard.check_url("https://example.com/a/b").unwrap();
    assert_eq!(guard.check_next(&from, "../c").unwrap().as_str(), "https://example.com/c");
    for bad in ["//127.0.0.1/", "http://0x7f.1/", "file:///etc/passwd", "//a:b@example.com/"] {
        assert!(guard.check_next(&from, bad).is_err(), "{bad}");
    }
}
