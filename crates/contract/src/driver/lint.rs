//! Driver lint: rules across the fields of one driver; binding checks its claims about contracts.

mod builtin;
mod cli;
mod http;
mod mcp;
mod sdk;

use std::collections::BTreeSet;

use haft_model::DriverKind;

use crate::shape::form::DRIVER_ID;
use crate::source::{Node, Value};
use crate::{Driver, Report, own_shape, rules};

pub(crate) use cli::{bundle_setup, secrets_in, shell_features};

/// Fields that AIP-30 advises against; `transport` is one only where its kind does not have it.
pub(super) const DISCOURAGED: [&str; 3] = ["driver", "concrete", "transport"];

/// Checks a driver's fields against each other.
pub(super) fn check(driver: &Driver, node: &Node, report: &mut Report) {
    spelling(driver, node, report);
    each_tool_once(node, report);
    health(node, report);
    expiry(node, report);
    install(node, report);
    match driver.kind {
        DriverKind::Builtin => builtin::check(node, report),
        DriverKind::Sdk => sdk::check(node, report),
        DriverKind::Http => http::check(driver, node, report),
        DriverKind::Mcp => mcp::check(node, report),
        DriverKind::Cli => cli::check(node, report),
    }
}

fn spelling(driver: &Driver, node: &Node, report: &mut Report) {
    let id = driver.id.as_str();
    if id.ends_with(['.', '-']) {
        report.add(&rules::D032, node.place(&["id"]), format!("`{id}` ends in a dot or dash"));
    }
    let folder = driver.file.rsplit('/').nth(1);
    // A driver may share the folder of the one contract it serves.
    let beside_tool = driver.implements.iter().any(|entry| Some(entry.tool.as_str()) == folder);
    let sound = DRIVER_ID.fault(id).is_none();
    if let Some(folder) = folder.filter(|folder| sound && *folder != id && !beside_tool) {
        report
            .add(
                &rules::D044,
                node.place(&["id"]),
                format!("the folder is called `{folder}`, the driver `{id}`"),
            )
            .help(format!("rename the folder to `{id}`"));
    }
    for name in DISCOURAGED {
        let own = own_shape(driver.kind).and_then(|shape| shape.field(name));
        if let (Some(entry), None) = (node.entry(name), own) {
            report
                .add(&rules::D031, entry.key_span.clone(), format!("`{name}` is discouraged"))
                .help("leave it out; `kind` says how the backend is reached");
        }
    }
}

fn each_tool_once(node: &Node, report: &mut Report) {
    let mut seen = BTreeSet::new();
    for entry in node.get("implements").map(Node::items).unwrap_or_default() {
        let Some(tool) = entry.get("tool") else { continue };
        if let Some(name) = tool.text()
            && !seen.insert(name)
        {
            report.add(&rules::D057, tool.span.clone(), format!("`{name}` is named twice"));
        }
    }
}

fn health(node: &Node, report: &mut Report) {
    let Some(check) = node.get("health_check") else { return };
    let needs = match check.get("method").and_then(Node::text) {
        Some("exec") => "cmd",
        Some("http") => "http",
        _ => return,
    };
    if check.get(needs).is_none() {
        report
            .add(
                &rules::D058,
                node.place(&["health_check", "method"]),
                format!("the health check has no `{needs}`"),
            )
            .help(format!("say `{needs}`, or use `method: noop`"));
    }
}

fn expiry(node: &Node, report: &mut Report) {
    let Some(sign) = node.at(&["auth", "expiry", "detect"]) else { return };
    let Some(text) = sign.text() else { return };
    let mut parts = text.splitn(3, ':');
    let seen = match (parts.next(), parts.next(), parts.next()) {
        (Some("exit_code" | "http_status"), Some(number), None) => number.parse::<u16>().is_ok(),
        (Some("exception"), Some(name), None) => !name.is_empty(),
        (Some("header"), Some(name), Some(value)) => !name.is_empty() && !value.is_empty(),
        _ => false,
    };
    if !seen {
        report
            .add(&rules::D059, sign.span.clone(), format!("nothing can look for `{text}`"))
            .help("write `exit_code:N`, `http_status:N`, `exception:Name` or `header:NAME:VALUE`");
    }
}

/// Checks the fields that an install method needs.
pub(crate) fn install(node: &Node, report: &mut Report) {
    for entry in node.get("install").map(Node::items).unwrap_or_default() {
        let Some(method) = entry.get("method") else { continue };
        let needs: &[&str] = match method.text() {
            Some(
                "brew" | "apt" | "dnf" | "pacman" | "choco" | "scoop" | "npm" | "pip" | "cargo"
                | "go",
            ) => &["package"],
            Some("curl") => &["url"],
            Some("download") => &["url", "extract_bin"],
            Some("vendored") => &["path"],
            Some(other) => {
                report
                    .add(
                        &rules::D066,
                        method.span.clone(),
                        format!("unknown install method `{other}`"),
                    )
                    .help("the entry is skipped");
                continue;
            }
            None => continue,
        };
        if entry.get("experimental").and_then(Node::flag) == Some(true) {
            report
                .add(&rules::D066, method.span.clone(), "the entry is experimental")
                .help("it is skipped");
        }
        for need in needs {
            if entry.get(need).is_none() {
                report.add(
                    &rules::D067,
                    method.span.clone(),
                    format!("this install entry has no `{need}`"),
                );
            }
        }
    }
}

/// Every `implements` entry whose `metadata` lacks what its kind reads.
fn entries_without<'n>(node: &'n Node, kind: &'n str) -> impl Iterator<Item = &'n Node> {
    let entries = node.get("implements").map(Node::items).unwrap_or_default();
    let readable = |entry: &&Node| {
        entry.get("metadata").is_none_or(|metadata| matches!(metadata.value, Value::Map(_)))
    };
    entries.iter().filter(readable).filter(move |entry| entry.at(&["metadata", kind]).is_none())
}
