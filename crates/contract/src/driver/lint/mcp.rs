//! Driver lint of `kind: mcp` (AIP-32).

use crate::host::{host_of, is_loopback};
use crate::source::Node;
use crate::{Report, rules};

pub(super) fn check(node: &Node, report: &mut Report) {
    for entry in super::entries_without(node, "mcp") {
        report
            .add(&rules::M033, entry.span.clone(), "this entry does not name the server's tool")
            .help("add `metadata: { mcp: { tool_name: … } }`");
    }
    let server = node.at(&["server", "kind"]).and_then(Node::text);
    let transport = node.get("transport").and_then(Node::text);
    let fitting: &[&str] = match server {
        Some("remote") => &["sse", "http"],
        Some("binary" | "npm") => &["stdio"],
        Some("docker") => &["stdio", "http"],
        _ => return,
    };
    if let (Some(server), Some(transport)) = (server, transport)
        && ["stdio", "sse", "http"].contains(&transport)
        && !fitting.contains(&transport)
    {
        report
            .add(
                &rules::M031,
                node.place(&["transport"]),
                format!("a {server} server is not spoken to over `{transport}`"),
            )
            .help(format!("use {}", fitting.join(" or ")));
    }
    let url = node.at(&["server", "url"]).and_then(Node::text);
    if let Some(url) = url.filter(|url| url.starts_with("http://"))
        && !host_of(url).is_some_and(is_loopback)
    {
        report
            .add(&rules::M032, node.place(&["server", "url"]), format!("`{url}` is not encrypted"))
            .help("use https");
    }
}
