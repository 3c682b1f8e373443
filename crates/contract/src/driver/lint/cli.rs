//! Driver lint of `kind: cli` and of bundles (AIP-29).

use haft_notation::Template;

use crate::source::Node;
use crate::{Report, rules};

pub(super) fn check(node: &Node, report: &mut Report) {
    for entry in super::entries_without(node, "cli") {
        report
            .add(&rules::C064, entry.span.clone(), "this entry does not say its arguments")
            .help("add `metadata: { cli: { argv: [\"status\", \"${input.path}\"] } }`");
    }
    for entry in node.get("implements").map(Node::items).unwrap_or_default() {
        if let Some(argv) = entry.at(&["metadata", "cli", "argv"]) {
            shell_features(argv, report);
        }
        if let Some(own) = entry.at(&["metadata", "cli"]) {
            secrets_in(own, report);
        }
    }
    bundle_setup(node, report);
}

/// An argument that only a shell would understand: it would reach the program as it is.
pub(crate) fn shell_features(argv: &Node, report: &mut Report) {
    for item in argv.items() {
        let text = item.text().unwrap_or_default().trim();
        if matches!(text, "&&" | "||" | "|" | ";" | ">" | ">>" | "<" | "&" | "2>&1")
            || text.contains("$(")
            || text.contains('`')
        {
            report
                .add(
                    &rules::C061,
                    item.span.clone(),
                    format!("`{text}` means nothing: no shell reads the arguments"),
                )
                .help("a call is one program; write two tools to combine two");
        }
    }
}

/// A secret where every user of the machine could read it, or where it would stand in our text.
pub(crate) fn secrets_in(entry: &Node, report: &mut Report) {
    let argv = entry.get("argv").map(Node::items).unwrap_or_default();
    for item in argv.iter().chain(entry.get("stdin")) {
        // What does not parse was reported as such.
        let Ok(template) = Template::parse(item.text().unwrap_or_default()) else { continue };
        let secret = template.expressions().find(|expression| expression.root() == "secrets");
        if let Some(name) = secret.and_then(|expression| expression.field()) {
            report
                .add(&rules::C066, item.span.clone(), format!("`{name}` would be seen by others"))
                .help(format!(
                    "list `{name}` in `auth.state.env`, or hand it over by \
                     `metadata.haft.secret_files`"
                ));
        }
    }
}

/// Rules that bundles and cli drivers share: setup steps and files of a login.
pub(crate) fn bundle_setup(node: &Node, report: &mut Report) {
    for step in node.get("setup").map(Node::items).unwrap_or_default() {
        if let Some(persist) = step.get("persist")
            && persist.entries().len() != 1
        {
            report
                .add(&rules::C063, persist.span.clone(), "the answer goes to exactly one place")
                .help("say one of env, secret_slug and cmd");
        }
    }
    let open = |key| node.at(&["sandbox", "fs", key]).map(Node::items).unwrap_or_default();
    for path in node.at(&["auth", "state", "paths"]).map(Node::items).unwrap_or_default() {
        let opened = ["read", "write"].into_iter().flat_map(open).any(|glob| {
            let (Some(glob), Some(path)) = (glob.text(), path.text()) else { return false };
            glob == path || path.starts_with(glob.trim_end_matches("**").trim_end_matches('*'))
        });
        if !opened {
            let path_text = path.text().unwrap_or_default();
            report
                .add(
                    &rules::C062,
                    path.span.clone(),
                    format!("`{path_text}` holds the login and is closed to the program"),
                )
                .help("list it under `sandbox.fs.read` or `write`");
        }
    }
}
