//! Address normalization: parses URLs with the drivers' parser and lists the spellings that rules
//! compare.

use std::borrow::Cow;

use haft_model::Glob;
use haft_model::web::{Host, Url};

use super::Spellings;
use crate::values::straight;

/// Greatest number of nested percent-decodings that a backend may apply.
const MOST_DECODED: usize = 3;

/// Spellings of an address; an invalid one is unknown.
pub(crate) fn spellings(text: &str) -> Spellings {
    let Ok(url) = Url::parse(text) else {
        return Spellings { further: vec![text.to_owned()], ..Spellings::unknown() };
    };
    let mut spelled = of_url(&url);
    if url.cannot_be_a_base()
        && let Ok(inner) = Url::parse(url.path())
    {
        // As in `view-source:https://…`.
        let inner = of_url(&inner);
        spelled.further.extend(inner.canonical);
        spelled.further.extend(inner.further);
    }
    let plain = plainly_read(text);
    if origins(&url).first().is_none_or(|origin| *origin != plain_origin(&plain)) {
        // Two parsers disagree about the host, so an allow has to match both.
        spelled.canonical.push(plain);
    } else {
        spelled.further.push(plain);
    }
    spelled.further.push(text.to_owned());
    spelled
}

/// Origin of a naively parsed address, without the scheme's default port.
fn plain_origin(plain: &str) -> String {
    let Some((scheme, rest)) = plain.split_once("://") else { return plain.to_owned() };
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let implied = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => "",
    };
    let host = host.strip_suffix(implied).unwrap_or(host).trim_end_matches('.');
    format!("{scheme}://{host}")
}

/// Canonical spellings of a URL: no user, no fragment, no trailing dot in the host, no default
/// port.
fn of_url(url: &Url) -> Spellings {
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path = url.path();
    let rest = format!("{path}{query}");
    let decoded = decoded_once(&rest);
    let normalized = straightened(&decoded);
    let fully = straightened(&fully_decoded(&rest));
    let mut canonical = Vec::new();
    let mut further = Vec::new();
    for (place, origin) in origins(url).into_iter().enumerate() {
        let names = [format!("{origin}{rest}"), format!("{origin}{normalized}")];
        // The first origin is the host as written; others are aliases.
        let list = if place == 0 { &mut canonical } else { &mut further };
        list.extend(names);
        further.push(format!("{origin}{fully}"));
        for asked in [rest.as_str(), &normalized, &fully] {
            let bare = asked.split('?').next().unwrap_or(asked);
            further.push(format!("{origin}{bare}"));
        }
    }
    canonical.dedup();
    further.dedup();
    Spellings { canonical, further, known: true }
}

/// Origins of a URL: scheme, host and port; an IPv4-mapped IPv6 address also yields its IPv4 form.
fn origins(url: &Url) -> Vec<String> {
    let scheme = url.scheme();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let mut hosts = match url.host() {
        None => return vec![format!("{scheme}:")],
        Some(Host::Domain(name)) => vec![name.trim_end_matches('.').to_ascii_lowercase()],
        Some(Host::Ipv4(address)) => vec![address.to_string()],
        Some(Host::Ipv6(address)) => vec![format!("[{address}]")],
    };
    if let Some(Host::Ipv6(address)) = url.host()
        && let Some(mapped) = address.to_ipv4_mapped()
    {
        hosts.push(mapped.to_string());
    }
    hosts.into_iter().map(|host| format!("{scheme}://{host}{port}")).collect()
}

/// Globs of an address pattern.
pub(crate) fn patterns(source: &str) -> Vec<Glob> {
    let mut sources = vec![source.to_owned()];
    let plain = plain_pattern(source);
    // A percent-encoded star is no wildcard.
    if !plain.to_ascii_lowercase().contains("%2a") {
        sources.push(decoded_once(&plain).into_owned());
    }
    sources.push(plain);
    sources.dedup();
    sources.iter().map(|source| Glob::new(source)).collect()
}

/// Pattern with scheme and host in the parser's spelling.
pub(crate) fn plain_pattern(source: &str) -> String {
    let Some((scheme, rest)) = source.split_once("://") else { return source.to_owned() };
    let scheme = scheme.to_ascii_lowercase();
    let (host, path) = match rest.find(['/', '?', '#']) {
        Some(end) => rest.split_at(end),
        // A host without a path means its root, unless a star ends it.
        None if rest.ends_with('*') => (rest, ""),
        None => (rest, "/"),
    };
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') && !name.is_empty() => (name, Some(port)),
        _ => (host, None),
    };
    let name = name.rsplit('@').next().unwrap_or(name).trim_end_matches('.');
    let labels: Vec<String> = name.split('.').map(label).collect();
    let whole = Url::parse(&format!("{scheme}://{name}/")).ok();
    let name = match whole.as_ref().and_then(Url::host_str) {
        Some(host) if !name.contains('*') => host.trim_end_matches('.').to_owned(),
        _ => labels.join("."),
    };
    let implied = matches!((scheme.as_str(), port), ("https", Some("443")) | ("http", Some("80")));
    let port = port.filter(|_| !implied).map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}://{name}{port}{path}")
}

/// One label of a host in the parser's spelling; a label with a star is only lowercased.
fn label(label: &str) -> String {
    let parsed = match label.contains('*') {
        true => None,
        false => Url::parse(&format!("https://{label}/")).ok(),
    };
    let named = parsed.as_ref().and_then(|url| match url.host() {
        Some(Host::Domain(name)) => Some(name.to_owned()),
        _ => None,
    });
    named.unwrap_or_else(|| label.to_lowercase())
}

/// Normalizes the path before a query: no `.`, `..`, backslashes or doubled slashes.
fn straightened(rest: &str) -> String {
    let (path, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    let slashed = path.replace('\\', "/");
    let mut plain = straight(&slashed);
    if slashed.ends_with('/') && !plain.ends_with('/') {
        plain.push('/');
    }
    plain + query
}

/// Address as a naive parser reads it, without special treatment of tabs, backslashes and Unicode:
/// a backend behind an opaque driver may use one.
fn plainly_read(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or(host);
    let rest = rest.split('#').next().unwrap_or(rest);
    let scheme = scheme.trim().to_lowercase();
    format!("{scheme}://{}{}", host.to_lowercase(), straightened(&decoded_once(rest)))
}

fn fully_decoded(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..MOST_DECODED {
        match decoded_once(&text) {
            Cow::Borrowed(_) => break,
            Cow::Owned(decoded) => text = decoded,
        }
    }
    text
}

/// Percent-decodes a text once; borrowed where nothing is encoded.
fn decoded_once(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    let mut any = false;
    while let Some((&first, after)) = rest.split_first() {
        let digit = |at: usize| after.get(at).and_then(|&byte| char::from(byte).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                any = true;
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    if any { Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(pattern: &str, url: &str) -> bool {
        spellings(url).is_held(&patterns(pattern))
    }

    fn let_go(pattern: &str, url: &str) -> bool {
        spellings(url).is_let_go(&patterns(pattern))
    }

    #[test]
    fn every_spelling_of_a_denied_address_is_held() {
        for url in [
            "https://bank.example/pay",
            "https://bank.example:443/pay",
            "https://bank.example./pay",
            "https:\\\\bank.example\\pay",
            "https:bank.example/pay",
            "https:/bank.example/pay",
            " https://bank.example/pay",
            "ht\ttps://bank.\nexample/pay",
            "https://bank%2eexample/pay",
            "https://ｂａｎｋ.example/pay",
            "https://bank。example/pay",
            "https://user:pw@bank.example/pay",
            "HTTPS://BANK.EXAMPLE/pay",
            "https://bank.example//pay",
            "https://bank.example/x/../pay",
            "https://bank.example/x/%2E%2e/pay",
            "https://bank.example/p%61y",
            "https://bank.example/p%2561y",
            "https://bank.example/pay?x=1",
            "https://bank.example/pay#x",
            "view-source:https://bank.example/pay",
            "https://good.example\\@bank.example/pay",
            "bank.example/pay",
        ] {
            assert!(held("https://bank.example/*", url), "{url:?}");
            assert!(held("https://bank.example/pay", url), "{url:?} by its path");
            assert!(held("HTTPS://Bank.Example:443/pay*", url), "{url:?} by a sloppy rule");
        }
        assert!(held("https://bücher.example/*", "https://xn--bcher-kva.example/a"));
        assert!(held("https://xn--bcher-kva.example/*", "https://BÜCHER.example/a"));
        assert!(held("https://*.Bücher.example/*", "https://a.bücher.example./b"));
        assert!(held("http://127.0.0.1/*", "http://0x7f.1/"));
        assert!(held("http://127.0.0.1/*", "http://[::ffff:127.0.0.1]/"));
        assert!(held("https://bank.example", "https://bank.example"));
    }

    #[test]
    fn another_address_is_not_held() {
        for url in [
            "https://bank.example.evil/pay",
            "https://notbank.example/pay",
            "http://bank.example/pay",
            "https://bank.example:8443/pay",
            "https://other.example/?next=https://bank.example/pay",
        ] {
            assert!(!held("https://bank.example/*", url), "{url:?}");
        }
    }

    #[test]
    fn an_allow_fits_every_proper_name_or_none() {
        for (pattern, url, expected) in [
            ("https://a.example/*", "https://a.example/x?y#z", true),
            ("https://A.example:443/*", "https://a.example/x", true),
            ("https://a.example", "https://a.example/", true),
            ("https://*.example/*", "https://b.a.example/x", true),
            ("https://a.example/a%20b/*", "https://a.example/a%20b/c", true),
            ("https://a.example/in/*", "https://a.example/in/../out", false),
            ("https://a.example/in/*", "https://a.example/in/..%2fout", false),
            ("https://a.example/*", "a.example/x", false),
            ("*", "a.example/x", false),
            ("https://a.example/*", "https://a.example\\@b.example/", false),
            ("https://a.example/*", "https://user@a.example/", true),
            ("https://a.example/*", "https://a.exam\tple/", false),
            ("https://bücher.example/*", "https://bücher.example/", true),
        ] {
            assert_eq!(let_go(pattern, url), expected, "{pattern} on {url}");
        }
    }
}
