//! CLI bundle: `CLI.md` (AIP-29), a program with its subcommands, read as a driver.
//!
//! A bundle cannot satisfy the schema of a driver and a driver cannot satisfy that of a bundle, so
//! a bundle becomes one: each leaf of `commands` is a contract it serves, the path to the leaf
//! begins the command line, and `metadata.cli.<path>.argv` is the rest. `metadata.haft.<path>` is
//! what a driver says under `metadata.haft` of an entry.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use haft_model::{DriverId, DriverKind};
use serde_json::{Value as Json, json};

use crate::driver::{
    Cost, Driver, DriverAuth, Implements, bundle_setup, install, secrets_in, shell_features,
};
use crate::foreign::escape;
use crate::read::{json as to_json, list, owned, shared, text};
use crate::runner::check_runner_of;
use crate::shape::{check, documents};
use crate::source::{Node, Value};
use crate::{Report, Rule, Source, range, rules};

/// Reads a CLI.md's frontmatter.
pub(crate) fn read(source: &Source, node: &Node, report: &mut Report) -> Option<Arc<Driver>> {
    check(node, &documents::cli::CLI, "C001", report);
    install(node, report);
    bundle_setup(node, report);
    check_runner_of(node, report);
    let mut leaves = Vec::new();
    if let Some(commands) = node.get("commands") {
        collect_leaves(commands, &mut Vec::new(), &mut leaves, report);
    }
    let hints = Hints { cli: node.at(&["metadata", "cli"]), haft: node.at(&["metadata", "haft"]) };
    // Metadata that is no map was refused as such.
    if node.get("metadata").is_some_and(|metadata| !matches!(metadata.value, Value::Map(_))) {
        leaves.clear();
    }
    let implements =
        leaves.iter().filter_map(|(path, leaf)| serves(path, leaf, hints, report)).collect();
    let auth = node.get("auth");
    Some(Arc::new(Driver {
        file: source.file().clone(),
        name: shared(node, "name")?,
        id: DriverId::from(text(node, "id")?),
        version: shared(node, "version")?,
        kind: DriverKind::Cli,
        implements,
        auth: auth.map(|auth| DriverAuth {
            reference: owned(auth, "ref"),
            env: auth.get("state").map(|state| list(state, "env")).unwrap_or_default(),
            login: to_json(auth, "login"),
        }),
        egress: node
            .at(&["sandbox", "network"])
            .map(|network| list(network, "egress"))
            .unwrap_or_default(),
        opens: crate::driver::opens(node),
        state: crate::driver::state(node),
        executes: crate::driver::executes(node),
        region: vec!["global".into()],
        policy_tags: Vec::new(),
        cost: Cost::default(),
        timeout_ms: None,
        retry: None,
        os: node.get("requires").map(|machine| list(machine, "os")).unwrap_or_default(),
        arch: node.get("requires").map(|machine| list(machine, "arch")).unwrap_or_default(),
        host_id: None,
        source: source.clone(),
        digest: OnceLock::new(),
    }))
}

/// What a bundle says of its leaves, by their dotted path.
#[derive(Clone, Copy)]
struct Hints<'n> {
    cli: Option<&'n Node>,
    haft: Option<&'n Node>,
}

type Leaf<'n> = (Vec<&'n str>, &'n Node);

fn collect_leaves<'n>(
    node: &'n Node,
    path: &mut Vec<&'n str>,
    leaves: &mut Vec<Leaf<'n>>,
    report: &mut Report,
) {
    for entry in node.entries() {
        path.push(&entry.key);
        match &entry.value.value {
            Value::Text(_) => leaves.push((path.clone(), &entry.value)),
            Value::Map(_) => collect_leaves(&entry.value, path, leaves, report),
            // The table has judged the first level.
            Value::Null | Value::Flag(_) | Value::Number(_) | Value::List(_) if path.len() < 2 => {}
            Value::Null | Value::Flag(_) | Value::Number(_) | Value::List(_) => {
                let kind = entry.value.kind();
                let message = format!("`{}` leads to {kind}, not to a contract", path.join("."));
                report
                    .add(&Rule::error("C013", ""), entry.value.span.clone(), message)
                    .help("name a contract by its id or by the path of its TOOL.md");
            }
        }
        path.pop();
    }
}

/// The contract at a leaf, with the command line that carries it out.
fn serves(path: &[&str], leaf: &Node, hints: Hints<'_>, report: &mut Report) -> Option<Implements> {
    let dotted = path.join(".");
    let own = hints.cli.and_then(|hints| hints.get(&dotted));
    let haft = hints.haft.and_then(|hints| hints.get(&dotted));
    let Some(own) = own else {
        report
            .add(
                &rules::C065,
                leaf.span.clone(),
                format!("nothing says with which arguments `{}` runs", path.join(" ")),
            )
            .help(format!("add `metadata: {{ cli: {{ \"{dotted}\": {{ argv: [] }} }} }}`"));
        return None;
    };
    check(own, &documents::cli::ENTRY, "C050", report);
    let rest = own.get("argv");
    if let Some(rest) = rest {
        shell_features(rest, report);
    }
    secrets_in(own, report);
    if let Some(haft) = haft {
        check(haft, &documents::haft::ENTRY, "E031", report);
    }
    let argv: Vec<Json> = path
        .iter()
        .map(|step| json!(step))
        .chain(rest.map(Node::items).unwrap_or_default().iter().map(Node::to_json))
        .collect();
    let mut entry = own.to_json();
    if let Some(entry) = entry.as_object_mut() {
        entry.insert("argv".into(), Json::Array(argv));
    }
    Some(Implements {
        place: path
            .iter()
            .fold("/commands".into(), |place, step| format!("{place}/{}", escape(step))),
        tool: leaf.text()?.to_owned(),
        range: range::parse("*").ok()?,
        range_text: "*".into(),
        drop_inputs: Vec::new(),
        drop_outputs: Vec::new(),
        mapping: BTreeMap::new(),
        cost: Cost::default(),
        timeout_ms: None,
        retry: None,
        metadata: match haft {
            Some(haft) => json!({ "cli": entry, "haft": haft.to_json() }),
            None => json!({ "cli": entry }),
        },
    })
}
