//! Settings lint: rules across the fields and entries of `haft.toml`.

use std::collections::BTreeSet;

use haft_model::Glob;
use serde_json::Value as Json;

use crate::host::is_loopback;
use crate::read::{list, text};
use crate::shape::form::TOOL_ID;
use crate::shape::{Field, Shape, Takes};
use crate::source::{Node, Value};
use crate::{Report, Rule, rules};

/// Checks sound settings and takes out the entries that contradict themselves or another.
pub(super) fn check(node: &mut Node, report: &mut Report) {
    workspace(node, report);
    server(node, report);
    keep(node, "rule", report, rule);
    keep(node, "hook", report, hook);
    let stranger = node.at(&["workspace", "default_actor"]).and_then(Node::text).map(str::to_owned);
    let mut seen = BTreeSet::new();
    keep(node, "actor", report, |item, report| {
        actor(item, stranger.as_deref(), report);
        once(item, &mut seen, report);
    });
}

/// Reports and takes out `[rule]` where `[[rule]]` is meant, which TOML reads as something else.
pub(super) fn single_brackets(node: &mut Node, shape: &Shape, report: &mut Report) {
    let Value::Map(entries) = &mut node.value else { return };
    entries.retain(|entry| {
        let repeats = |field: &&Field| matches!(field.takes, Takes::List(..));
        let Some(field) = shape.field(&entry.key).filter(repeats) else { return true };
        let once = matches!(entry.value.value, Value::Map(_));
        if once {
            let name = field.name;
            let message = format!("`[{name}]` is a table, and there can be several");
            report
                .add(&Rule::error(field.code, ""), entry.value.span.clone(), message)
                .help(format!("write `[[{name}]]`"));
        }
        !once
    });
}

/// Judges each entry of a list and drops those with which something is wrong.
fn keep(
    node: &mut Node,
    key: &str,
    report: &mut Report,
    mut judge: impl FnMut(&Node, &mut Report),
) {
    let Value::Map(entries) = &mut node.value else { return };
    let Some(entry) = entries.iter_mut().find(|entry| &*entry.key == key) else { return };
    let Value::List(items) = &mut entry.value.value else { return };
    items.retain(|item| {
        let before = report.errors();
        judge(item, report);
        report.errors() == before
    });
}

fn workspace(node: &Node, report: &mut Report) {
    let Some(workspace) = node.get("workspace") else { return };
    if text(workspace, "sandbox") == Some("off") {
        report.add(&rules::W047, workspace.place(&["sandbox"]), "drivers run unconfined").help(
            "remove the line; a contract that needs more says so in `mutates` and `requires`",
        );
    }
    let allowed = list(workspace, "policy_tags");
    for tag in workspace.get("denied_tags").map(Node::items).unwrap_or_default() {
        if let Some(name) = tag.text().filter(|name| allowed.iter().any(|other| other == name)) {
            report
                .add(&rules::W048, tag.span.clone(), format!("`{name}` is allowed and denied"))
                .help("denying wins; remove it from `policy_tags`");
        }
    }
}

fn server(node: &Node, report: &mut Report) {
    let Some(server) = node.get("server") else { return };
    let Some(listen) = text(server, "listen") else { return };
    if !is_loopback(listen) && server.get("oauth").is_none() {
        report
            .add(
                &rules::W046,
                server.place(&["listen"]),
                format!("other machines can reach `{listen}`, so every caller needs a token"),
            )
            .help("make tokens with `haft token new`, or add `[server.oauth]`");
    }
}

fn actor(item: &Node, default_actor: Option<&str>, report: &mut Report) {
    let Some(id) = text(item, "id") else { return };
    let roles = list(item, "roles");
    let has = |role: &str| roles.iter().any(|held| held == role);
    if Some(id) == default_actor && (has("approver") || has("admin")) {
        report
            .add(
                &rules::W044,
                item.place(&["roles"]),
                format!("`{id}` is who callers without a token are, so it can hold no such role"),
            )
            .help("give the role to another actor, or name another `default_actor`");
    } else if id.starts_with("agent:") && has("approver") {
        report
            .add(&rules::W045, item.place(&["roles"]), format!("`{id}` is an agent, no approver"))
            .help("only a person answers; give the role to a `user:<name>`");
    }
}

fn once(item: &Node, seen: &mut BTreeSet<String>, report: &mut Report) {
    let Some(id) = text(item, "id") else { return };
    if !seen.insert(id.to_owned()) {
        report
            .add(&rules::W043, item.place(&["id"]), format!("`{id}` is listed twice"))
            .help("put all its roles into one `[[actor]]`");
    }
}

/// The properties of a call that a rule matches, beside its caller.
const CALL_PATTERNS: [&str; 6] = ["tool", "action", "class", "path", "url", "command"];

fn rule(item: &Node, report: &mut Report) {
    let stated = |name: &&str| item.get(name).is_some();
    let patterns = CALL_PATTERNS.iter().copied().filter(stated).collect::<Vec<_>>();
    if patterns.is_empty() && item.get("actor").is_none() {
        report
            .add(&rules::W040, item.span.clone(), "the rule does not say what it is about")
            .help("add `tool`, `action`, `class`, `path`, `url`, `command` or `actor`");
        return;
    }
    let tool = text(item, "tool").map(Glob::new);
    matched(item, tool.as_ref(), report);
    // Where the rule looks at more than the tool, that may be what tells two calls apart.
    unmatched(item, tool.as_ref().filter(|_| patterns == ["tool"]), report);
}

fn matched(item: &Node, tool: Option<&Glob>, report: &mut Report) {
    for example in item.get("match").map(Node::items).unwrap_or_default() {
        let Some(id) = example_tool(example, report) else { continue };
        if tool.is_some_and(|tool| !tool.matches(id)) {
            report
                .add(
                    &rules::W051,
                    example.span.clone(),
                    format!("the rule does not match its own example `{id}`"),
                )
                .help("widen `tool`, or correct the example");
        }
    }
}

fn unmatched(item: &Node, tool: Option<&Glob>, report: &mut Report) {
    for example in item.get("not_match").map(Node::items).unwrap_or_default() {
        let Some(id) = example_tool(example, report) else { continue };
        if tool.is_some_and(|tool| tool.matches(id)) {
            report
                .add(
                    &rules::W052,
                    example.span.clone(),
                    format!("the rule matches `{id}`, which it says it does not"),
                )
                .help("narrow `tool`, or add a `class` or an `action`");
        }
    }
}

/// The tool of an example; one that is none is reported.
fn example_tool<'n>(example: &'n Node, report: &mut Report) -> Option<&'n str> {
    let written = example.text()?;
    let (id, input) = written.split_once(' ').unwrap_or((written, ""));
    let object = serde_json::from_str::<Json>(input).is_ok_and(|input| input.is_object());
    if TOOL_ID.fault(id).is_none() && object {
        return Some(id);
    }
    report
        .add(&rules::W050, example.span.clone(), format!("`{written}` is not an example of a call"))
        .help("write `<tool-id> <json-object>`, as in `git.log {}`");
    None
}

fn hook(item: &Node, report: &mut Report) {
    match (item.get("run"), item.get("url")) {
        (Some(_), None) => {}
        (None, Some(url)) if item.get("secret").is_none() => {
            report
                .add(&rules::W042, url.span.clone(), "what is sent to this hook is not signed")
                .help("add `secret = \"<slug>\"`, and check the signature there");
        }
        (None, Some(_)) => {}
        (Some(_), Some(url)) => {
            report
                .add(&rules::W041, url.span.clone(), "the hook has both `run` and `url`")
                .help("keep one of them");
        }
        (None, None) => {
            report
                .add(&rules::W041, item.span.clone(), "the hook has neither `run` nor `url`")
                .help("add `run = [\"<program>\"]` or `url = \"https://…\"`");
        }
    }
}
