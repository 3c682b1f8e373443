//! Standard actions: the ten actions of AIP-39, known without a file.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_model::{ActionId, Approval, Requires, Risk};

use crate::Action;

struct StandardRow {
    id: &'static str,
    approval: &'static str,
    risk: Risk,
    mutates: &'static [&'static str],
    network: &'static [&'static str],
    events: &'static [&'static str],
    description: &'static str,
}

const fn row(
    id: &'static str,
    approval: &'static str,
    risk: Risk,
    mutates: &'static [&'static str],
    description: &'static str,
) -> StandardRow {
    StandardRow { id, approval, risk, mutates, network: &[], events: &[], description }
}

const ROWS: [StandardRow; 10] = [
    row("storage:read", "auto", Risk::READ, &[], "Reads what is stored."),
    StandardRow {
        events: &["write"],
        ..row("storage:write", "auto", Risk::SCOPED_WRITE, &["storage:*"], "Stores something.")
    },
    StandardRow {
        events: &["write", "commit-completed"],
        ..row("storage:commit", "auto", Risk::SCOPED_WRITE, &["storage:*"], "Records a change.")
    },
    row(
        "storage:push",
        "on-mutate",
        Risk::EXTERNAL,
        &["storage:*", "network:*"],
        "Sends recorded changes elsewhere.",
    ),
    row("sandbox:execute", "on-mutate", Risk::EXTERNAL, &["sandbox:*"], "Runs code."),
    StandardRow {
        network: &["*"],
        ..row(
            "sandbox:network-egress",
            "on-mutate",
            Risk::EXTERNAL,
            &["network:*"],
            "Reaches a host from inside a sandbox.",
        )
    },
    row("secrets:reveal", "on-mutate", Risk::SCOPED_WRITE, &[], "Shows a secret."),
    row(
        "secrets:rotate",
        "always",
        Risk::IRREVERSIBLE,
        &["external:*", "database:secrets"],
        "Replaces a secret.",
    ),
    row("workspace:read", "auto", Risk::READ, &[], "Reads the workspace."),
    row(
        "workspace:publish",
        "always",
        Risk::IRREVERSIBLE,
        &["workspace:metadata", "external:registry"],
        "Publishes the workspace.",
    ),
];

/// The standard actions; an ACTION.md of the same id in a workspace stands in front of them.
pub fn standard_actions() -> Vec<Arc<Action>> {
    let texts =
        |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<BTreeSet<_>>();
    ROWS.iter()
        .map(|row| {
            let target = row.id.split(':').next().unwrap_or_default();
            Arc::new(Action {
                file: Arc::from("(standard)"),
                id: ActionId::from(row.id),
                version: "1.0.0".into(),
                description: row.description.into(),
                category: String::new(),
                target_kind: target.into(),
                mutates: Some(texts(row.mutates)),
                requires: (!row.network.is_empty())
                    .then(|| Requires { network: texts(row.network), ..Default::default() }),
                approval: Approval::parse(row.approval).unwrap_or_default(),
                risk: Some(row.risk),
                fires_events: row.events.iter().map(|event| (*event).to_owned()).collect(),
            })
        })
        .collect()
}
