//! Rule examples: checks the examples of a rule against everything that the rule matches.
//!
//! `contract` checks them as far as the tool's name goes; classes and actions are known only here.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_catalog::Snapshot;
use haft_contract::settings::Settings;
use haft_contract::{Finding, rules};
use haft_model::Rule;
use haft_policy::Targets;
use haft_policy::rules::{CompiledRule, Subject, matches};
use serde_json::Value;

use super::side::SETTINGS_FILE;

/// Examples that say one thing of a rule that says another.
pub(super) fn check(settings: &Settings, snapshot: &Snapshot) -> Vec<Finding> {
    let file: Arc<str> = SETTINGS_FILE.into();
    let mut findings = Vec::new();
    let telling = settings.rules.iter().enumerate().filter(|(_, rule)| looks_beyond_the_tool(rule));
    for (index, rule) in telling {
        for (at, example) in rule.matches.iter().enumerate() {
            if holds(rule, example, snapshot) == Some(false) {
                let message = format!("the rule does not match its own example `{example}`");
                let place = format!("/rule/{index}/match/{at}");
                findings.push(Finding::new(rules::W051, &file, &place, message));
            }
        }
        for (at, example) in rule.not_matches.iter().enumerate() {
            if holds(rule, example, snapshot) == Some(true) {
                let message = format!("the rule matches `{example}`, which it says it does not");
                let place = format!("/rule/{index}/not_match/{at}");
                findings.push(Finding::new(rules::W052, &file, &place, message));
            }
        }
    }
    findings
}

fn looks_beyond_the_tool(rule: &Rule) -> bool {
    // Destructured, so that a new condition cannot be forgotten here.
    let Rule {
        action,
        class,
        path,
        url,
        command,
        tool: _,
        actor: _,
        verdict: _,
        reason: _,
        matches: _,
        not_matches: _,
    } = rule;
    [action, class, path, url, command].into_iter().any(Option::is_some)
}

/// Whether a rule is about an example; none where the example's tool is not known well enough.
fn holds(rule: &Rule, example: &str, snapshot: &Snapshot) -> Option<bool> {
    let (tool, input) = example.split_once(' ')?;
    let input: Value = serde_json::from_str(input).ok()?;
    let entry = snapshot.find(tool);
    if entry.is_none() && (rule.action.is_some() || rule.class.is_some()) {
        return None;
    }
    let none = BTreeSet::new();
    let contract = entry.map(|entry| &entry.contract);
    let subject = Subject {
        tool,
        action: contract.and_then(|contract| Some(contract.action.as_ref()?.id.as_str())),
        classes: contract.map_or(&none, |contract| &contract.effects.classes),
        actor: None,
        input: &input,
        mapped: None,
        targets: &Targets::default(),
    };
    Some(matches(&CompiledRule::new(rule), &subject))
}
