//! Driver lint of `kind: sdk` (AIP-33).

use crate::source::Node;
use crate::{Report, rules};

pub(super) fn check(node: &Node, report: &mut Report) {
    for entry in super::entries_without(node, "sdk") {
        report
            .add(&rules::K032, entry.span.clone(), "this entry does not name a function")
            .help("add `metadata: { sdk: { function_ref: … } }`");
    }
    installs(node, report);
    // Without an engine a runner is a subprocess.
    let runner = node.get("runner").filter(|runner| !runner.entries().is_empty());
    let engine = runner.map(|runner| runner.get("engine").unwrap_or(runner));
    if let Some(engine) = engine.filter(|engine| engine.text() != Some("in-process")) {
        report
            .add(&rules::K033, engine.span.clone(), "the runner of an SDK driver is `in-process`")
            .help("leave `runner` out, or use a cli driver");
    }
    for entry in node.get("implements").map(Node::items).unwrap_or_default() {
        if let Some(template) = entry.at(&["metadata", "sdk", "args_template"]) {
            positions(template, report);
        }
    }
}

fn installs(node: &Node, report: &mut Report) {
    let Some(manager) = node.get("package_manager").and_then(Node::text) else { return };
    let fitting = match manager {
        "npm" | "pnpm" | "yarn" => "npm",
        "pip" | "poetry" => "pip",
        "cargo" => "cargo",
        "go" => "go",
        "local" => "vendored",
        _ => return,
    };
    for entry in node.get("install").map(Node::items).unwrap_or_default() {
        let method = entry.get("method");
        if let Some(method) = method.filter(|method| method.text() != Some(fitting)) {
            let other = method.text().unwrap_or_default();
            report
                .add(
                    &rules::K031,
                    method.span.clone(),
                    format!("`{other}` does not install a package of `{manager}`"),
                )
                .help(format!("use `{fitting}`"));
        }
    }
}

/// `_0` to `_4`, from the first on, and then nothing but positions.
fn positions(template: &Node, report: &mut Report) {
    let names: Vec<&str> = template.entries().iter().map(|entry| &*entry.key).collect();
    let is_position =
        |name: &&str| name.strip_prefix('_').is_some_and(|rest| rest.parse::<usize>().is_ok());
    if !names.iter().any(is_position) {
        return;
    }
    let wanted: Vec<String> = (0..names.len()).map(|index| format!("_{index}")).collect();
    let complete = names.len() <= 5 && wanted.iter().all(|want| names.contains(&want.as_str()));
    if !complete {
        report
            .add(&rules::K034, template.span.clone(), "the positional arguments are not complete")
            .help("write `_0`, `_1` … without a gap, at most `_4`, and no names beside them");
    }
}
