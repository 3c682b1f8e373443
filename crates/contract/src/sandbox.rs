//! Sandbox profile: the `sandbox` block and `SANDBOX.md` (AIP-36).

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::block::{is_reference, one_form, written_out};
use crate::read::{items, text};
use crate::shape::{check, documents};
use crate::source::Node;
use crate::{Report, rules};

/// Checks a sandbox that is written out; one given by `ref` or `file` is not followed.
pub fn check_sandbox(node: &Node, report: &mut Report) {
    let Some(sandbox) = written_out(node, &rules::X044, report) else { return };
    check(sandbox, &documents::sandbox::SANDBOX, "X004", report);
    credentials(sandbox, report);
    mounts(sandbox, report);
    if let Some(lifecycle) = sandbox.get("lifecycle") {
        lifecycle_names(lifecycle, report);
    }
}

/// The plain form of a mount point: absolute, without `.` and doubled slashes; none with `..`.
pub fn mount_point(at: &str) -> Option<String> {
    let steps = at.strip_prefix('/')?.split('/').filter(|step| !matches!(*step, "" | "."));
    let steps: Vec<&str> = steps.collect();
    (!steps.contains(&"..")).then(|| format!("/{}", steps.join("/")))
}

/// Suffixes of field names that usually hold credentials.
const CREDENTIALS: [&str; 8] = [
    "apikey",
    "token",
    "secret",
    "password",
    "credential",
    "credentials",
    "privatekey",
    "accesskey",
];

/// No field that is named like a credential may hold text, unless that only points to a secret.
fn credentials(node: &Node, report: &mut Report) {
    for entry in node.entries() {
        let name = entry.key.to_lowercase().replace(['-', '_'], "");
        let written = entry.value.text().is_some_and(|text| {
            !text.is_empty() && !text.contains("${secrets.") && !text.starts_with("$$SECRET[")
        });
        if written && CREDENTIALS.iter().any(|ending| name.ends_with(ending)) {
            report
                .add(
                    &rules::X040,
                    entry.key_span.clone(),
                    format!("`{}` is written out", entry.key),
                )
                .help("point `env.auth.ref` at a SECRETS.md");
        }
        credentials(&entry.value, report);
    }
    node.items().iter().for_each(|item| credentials(item, report));
}

fn mounts(node: &Node, report: &mut Report) {
    let mut taken = BTreeSet::new();
    for mount in items(node, "mounts") {
        // A field that no source has is refused by the table.
        if let Some(source) = mount.get("source").filter(|source| is_reference(source)) {
            one_form(source, &rules::X042, report);
        }
        let Some(place) = text(mount, "at").and_then(mount_point) else { continue };
        if taken.contains(&place) {
            report.add(
                &rules::X041,
                mount.place(&["at"]),
                format!("something else is mounted at `{place}`"),
            );
        }
        taken.insert(place);
    }
}

fn lifecycle_names(node: &Node, report: &mut Report) {
    for entry in node.entries() {
        let help = match &*entry.key {
            "pause_after_idle" | "destroy_on" => continue,
            "pause_after_idle_ms" => "call it `pause_after_idle`, and name an event: `idle-600`",
            "destroy_on_workspace_close" => "write `destroy_on: workspace-close`",
            _ => "it is ignored",
        };
        report
            .add(
                &rules::X043,
                entry.key_span.clone(),
                format!("`lifecycle` has no field `{}`", entry.key),
            )
            .help(help);
    }
}
