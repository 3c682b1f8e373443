//! Action inheritance: a tool may narrow the floor that its action sets, never lower it.

use std::collections::BTreeSet;

use crate::{Action, Finding, ToolManifest, rules};

/// Every way in which a tool lowers the floor its action sets.
pub fn inherit(tool: &ToolManifest, action: &Action) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |rule, pointer: &str, message: String, help: String| {
        findings.push(Finding::new(rule, &tool.file, pointer, message).help(help));
    };
    let name = &action.id;
    if let (Some(own), Some(floor)) = (tool.risk, action.risk)
        && own < floor
    {
        add(
            rules::T050,
            "/risk_level",
            format!("`risk_level` is {own}, and `{name}` says at least {floor}"),
            format!("say {floor} or more, or leave it out to inherit {floor}"),
        );
    }
    if let (Some(own), Some(floor)) = (&tool.mutates, &action.mutates) {
        let dropped = missing(own, floor);
        if !dropped.is_empty() {
            add(
                rules::T051,
                "/mutates",
                format!("`mutates` drops {dropped}, which `{name}` declares"),
                format!("add {dropped}, or leave `mutates` out to inherit it"),
            );
        }
    }
    if let Some(own) = tool.approval.as_ref().filter(|own| !own.meets(&action.approval)) {
        add(
            rules::T052,
            "/approval",
            format!("`approval` is {own}, and `{name}` asks for {}", action.approval),
            format!("say `{}` or stricter, or leave it out to inherit it", action.approval),
        );
    }
    if let (Some(own), Some(floor)) = (&tool.requires, &action.requires) {
        let lists = [
            ("network", &own.network, &floor.network),
            ("secrets", &own.secrets, &floor.secrets),
            ("tools", &own.tools, &floor.tools),
        ];
        for (list, own, floor) in lists {
            let dropped = missing(own, floor);
            // A list that is not written is inherited; one that is written has to be complete.
            if !own.is_empty() && !dropped.is_empty() {
                add(
                    rules::T053,
                    &format!("/requires/{list}"),
                    format!("`requires.{list}` drops {dropped}, which `{name}` declares"),
                    format!("add {dropped}"),
                );
            }
        }
    }
    findings
}

fn missing(own: &BTreeSet<String>, floor: &BTreeSet<String>) -> String {
    let missing: Vec<String> = floor.difference(own).map(|entry| format!("`{entry}`")).collect();
    missing.join(", ")
}
