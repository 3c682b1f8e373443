//! Egress allowlist: a call reaches only the hosts that its driver and its contract both list.

use haft_model::host::{covers, is_own, name_of};
use haft_model::{Code, Plan, Stop};
use haft_sandbox::{AddressGuard, CheckedUrl, Forbidden};

/// Opens the hosts of the local network that the driver names literally. A public name that
/// resolves to such a host stays closed, so that its DNS server cannot open it (DNS rebinding).
pub(crate) fn opened(guard: AddressGuard, egress: &[String], base_url: &str) -> AddressGuard {
    let named = egress.iter().filter_map(|listed| {
        let name = name_of(listed);
        if !is_own(name) {
            return None;
        }
        match listed.strip_prefix(name)?.strip_prefix(':') {
            Some(port) => Some((name, port.parse().ok()?)),
            // Without a port, the port of the base URL.
            None => Some((name, port_of(base_url)?)),
        }
    });
    named.fold(guard, |guard, (name, port)| guard.allowing(name, port))
}

fn port_of(url: &str) -> Option<u16> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    match host.strip_prefix(name_of(host))?.strip_prefix(':') {
        Some(port) => port.parse().ok(),
        None => Some(if scheme == "http" { 80 } else { 443 }),
    }
}

/// Whether two URLs have the same origin.
pub(super) fn same_host(one: &CheckedUrl, other: &CheckedUrl) -> bool {
    (one.host(), one.port(), one.is_plain()) == (other.host(), other.port(), other.is_plain())
}

/// Checks a URL against the lists of the driver and of the contract.
pub(crate) fn check(url: &CheckedUrl, egress: &[String], plan: &Plan) -> Result<(), Stop> {
    check_host(&host_of(url), egress, plan)
}

/// The host and port of a URL, as the lists name them.
pub(crate) fn host_of(url: &CheckedUrl) -> String {
    format!("{}:{}", url.host(), url.port())
}

/// Checks a host and port against both lists.
pub(crate) fn check_host(host: &str, egress: &[String], plan: &Plan) -> Result<(), Stop> {
    let listed = |listed: &String| listed == host || covers(&listed.to_ascii_lowercase(), host);
    let (driver, tool) = (&plan.route.driver, &plan.tool);
    if !egress.iter().any(listed) {
        let words = format!("driver `{driver}` may not reach `{host}`: it does not list that host");
        let help = format!("add `{host}` to `network.egress` of the driver");
        return Err(Stop::new(Code::SandboxViolation, words).help(help));
    }
    if !plan.effects.requires.network.iter().any(listed) {
        let words =
            format!("`{tool}` may not reach `{host}`: its contract does not list that host");
        let help = format!("add `{host}` to `requires.network` of the contract");
        return Err(Stop::new(Code::SandboxViolation, words).help(help));
    }
    Ok(())
}

/// Maps a refusal of the address guard.
pub(crate) fn refused(forbidden: &Forbidden) -> Stop {
    match forbidden {
        Forbidden::Nowhere(_) => Stop::new(Code::DependencyUnavailable, forbidden.to_string()),
        Forbidden::Address { .. } => Stop::new(Code::SandboxViolation, forbidden.to_string())
            .help("a host of one's own network has to be named in `network.egress` as it is written in `base_url`"),
        Forbidden::Malformed(_) | Forbidden::Scheme(_) | Forbidden::Credentials => {
            Stop::new(Code::SandboxViolation, forbidden.to_string())
        }
    }
}
