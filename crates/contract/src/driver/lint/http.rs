//! Driver lint of `kind: http` (AIP-31).

use haft_model::host::{covers, name_of};

use crate::host::{host_of, is_loopback, is_private};
use crate::source::Node;
use crate::{Driver, Report, rules};

pub(super) fn check(driver: &Driver, node: &Node, report: &mut Report) {
    for entry in super::entries_without(node, "http") {
        report
            .add(&rules::H030, entry.span.clone(), "this entry does not say what to request")
            .help("add `metadata: { http: { endpoint: /path, method: GET } }`");
    }
    credentials(node, report);
    let Some(base) = node.get("base_url") else { return };
    let Some(url) = base.text() else { return };
    if url.contains("${") {
        report
            .add(&rules::H033, base.span.clone(), "`base_url` holds a placeholder")
            .help("one driver has one host; write a driver for each");
        return;
    }
    let Some(host) = host_of(url) else { return };
    let listed = node.at(&["network", "egress"]).is_none_or(|egress| egress.text().is_none());
    if listed && !driver.egress.iter().any(|allowed| covers(allowed, host)) {
        report
            .add(
                &rules::H032,
                base.span.clone(),
                format!("`{host}` is not in `network.egress`, so it could never be reached"),
            )
            .help(format!("add `network: {{ egress: [\"{host}\"] }}`"));
    }
    if url.starts_with("http://") && !is_loopback(host) && !names_private(driver, host) {
        report.add(&rules::H031, base.span.clone(), format!("`{url}` is not encrypted")).help(
            "use https; http is for loopback and for private hosts named in `network.egress`",
        );
    }
}

/// Headers that carry credentials must carry placeholders.
fn credentials(node: &Node, report: &mut Report) {
    let entries = node.get("implements").map(Node::items).unwrap_or_default();
    let headers = entries
        .iter()
        .filter_map(|entry| entry.at(&["metadata", "http", "headers"]))
        .chain(node.get("default_headers"));
    for header in headers.flat_map(Node::entries) {
        let name = header.key.to_lowercase();
        let secret = ["authorization", "x-api-key", "api-key", "cookie", "proxy-authorization"];
        let written = header.value.text().unwrap_or_default();
        if secret.contains(&name.as_str()) && !written.contains("${secrets.") {
            report
                .add(
                    &rules::H034,
                    header.value.span.clone(),
                    format!("`{}` is written out", header.key),
                )
                .help("refer to a secret: `${secrets.NAME}`");
        }
    }
}

/// Whether a host of one's own network is named outright.
fn names_private(driver: &Driver, host: &str) -> bool {
    is_private(host)
        && driver.egress.iter().any(|allowed| allowed == host || allowed == name_of(host))
}
