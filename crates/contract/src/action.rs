//! Action manifest: `ACTION.md` (AIP-39), a verb that policies grant and tools implement.

mod standard;

pub use standard::standard_actions;

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_model::{ActionId, Approval, Requires, Risk};

use crate::read::{list, owned, requires, set, text};
use crate::shape::{check, documents};
use crate::source::Node;
use crate::{Report, Source};

/// An action with its defaults in place: the floor of every tool that implements it.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The file it came from.
    pub file: Arc<str>,
    /// The action's id, unique in the workspace.
    pub id: ActionId,
    /// The version of the manifest.
    pub version: String,
    /// What the action is for, as its author describes it.
    pub description: String,
    /// The category under which catalogs list the action.
    pub category: String,
    /// The kind of resource that the action targets.
    pub target_kind: String,
    /// The resources that the action may mutate; `None` where the manifest does not state them.
    pub mutates: Option<BTreeSet<String>>,
    /// Capabilities that the action needs; `None` where the manifest does not state them.
    pub requires: Option<Requires>,
    /// The approval class of the action.
    pub approval: Approval,
    /// The risk level; `None` where the manifest does not state one.
    pub risk: Option<Risk>,
    /// Events it fires.
    pub fires_events: Vec<String>,
}

/// Reads an ACTION.md's frontmatter.
pub(crate) fn read(source: &Source, node: &Node, report: &mut Report) -> Option<Arc<Action>> {
    check(node, &documents::action::ACTION, "A001", report);
    from_node(source.file(), node).map(Arc::new)
}

/// Builds an action from a checked tree, such as an inline one.
pub(crate) fn from_node(file: &Arc<str>, node: &Node) -> Option<Action> {
    let id = text(node, "id")?;
    let target = id.split_once(':').map_or("", |(target, _)| target);
    Some(Action {
        file: file.clone(),
        id: ActionId::from(id),
        version: owned(node, "version").unwrap_or_else(|| "1.0.0".into()),
        description: owned(node, "description").unwrap_or_default(),
        category: owned(node, "category").unwrap_or_default(),
        target_kind: owned(node, "target_kind").unwrap_or_else(|| target.into()),
        mutates: node.get("mutates").map(|_| set(node, "mutates")),
        requires: node.get("requires").map(requires),
        approval: text(node, "approval").and_then(Approval::parse).unwrap_or_default(),
        risk: node.get("risk_level").and_then(Node::integer).and_then(Risk::new),
        fires_events: list(node, "fires_events"),
    })
}
