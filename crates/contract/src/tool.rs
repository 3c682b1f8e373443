//! Tool manifest: `TOOL.md` (AIP-14) as written; absent fields stay absent until an action is
//! inherited.

mod lint;

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_model::{
    Approval, CostClass, DriverId, DriverKind, Requires, RetryPolicy, Risk, ToolId, ToolKey,
};
use serde_json::Value as Json;

use crate::action::{self, Action};
use crate::extras::Extras;
use crate::read::{cost_class, flag, json, list, owned, requires, retry, set, shared, text, whole};
use crate::shape::{check, documents};
use crate::source::Node;
use crate::{Report, Source, range};

pub(crate) use lint::object_schema;

/// A contract as its author wrote it.
#[derive(Clone, Debug)]
pub struct ToolManifest {
    /// The file it came from.
    pub file: Arc<str>,
    /// Its name for people.
    pub name: Arc<str>,
    /// Its id and major.
    pub key: ToolKey,
    /// Its full version.
    pub version: Arc<str>,
    /// The description that the model reads.
    pub description: Arc<str>,
    /// JSON Schema of the input.
    pub inputs: Json,
    /// JSON Schema of the output.
    pub outputs: Json,
    /// JSON Schema of the context that the host adds.
    pub context_schema: Option<Json>,
    /// Whether a second execution has no further effect.
    pub idempotent: bool,
    /// The resources that it may mutate; `None` where the manifest does not state them.
    pub mutates: Option<BTreeSet<String>>,
    /// Capabilities that it needs; `None` where the manifest does not state them.
    pub requires: Option<Requires>,
    /// The approval class; `None` where the manifest does not state one.
    pub approval: Option<Approval>,
    /// The risk level; `None` where the manifest does not state one.
    pub risk: Option<Risk>,
    /// The cost class of a call.
    pub cost_class: CostClass,
    /// Timeout of a call in milliseconds.
    pub timeout_ms: u64,
    /// The retry policy; `None` leaves it to the host.
    pub retry: Option<RetryPolicy>,
    /// The driver that routing prefers.
    pub default_implementation: Option<DriverId>,
    /// The action it implements.
    pub implements: Option<ActionRef>,
    /// Driver kinds that may never serve it.
    pub forbid: Vec<DriverKind>,
    /// The only driver kinds that may serve it; empty means all.
    pub require_kind: Vec<DriverKind>,
    /// Words that search matches.
    pub tags: Vec<String>,
    /// Examples that every driver has to satisfy.
    pub examples: Vec<Example>,
    /// `metadata.haft`: the fields that Haft reads beyond AIP-14.
    pub extras: Extras,
    /// Other people's metadata, and what other formats said beyond ours.
    pub metadata: Json,
}

impl ToolManifest {
    /// A contract that says what it is and leaves everything else unsaid.
    pub(crate) fn bare(
        file: &Arc<str>,
        name: &str,
        key: ToolKey,
        version: &str,
        description: &str,
    ) -> ToolManifest {
        ToolManifest {
            file: file.clone(),
            name: name.into(),
            key,
            version: version.into(),
            description: description.into(),
            inputs: open_schema(),
            outputs: open_schema(),
            context_schema: None,
            idempotent: false,
            mutates: None,
            requires: None,
            approval: None,
            risk: None,
            cost_class: CostClass::default(),
            timeout_ms: DEFAULT_TIMEOUT_MS,
            retry: None,
            default_implementation: None,
            implements: None,
            forbid: Vec::new(),
            require_kind: Vec::new(),
            tags: Vec::new(),
            examples: Vec::new(),
            extras: Extras::default(),
            metadata: Json::default(),
        }
    }
}

/// The schema of an object of which nothing is known.
pub(crate) fn open_schema() -> Json {
    serde_json::json!({ "type": "object" })
}

/// How a tool names its action.
#[derive(Clone, Debug)]
pub enum ActionRef {
    /// By id, registry reference or path.
    Named(String),
    /// By writing it out.
    Inline(Arc<Action>),
}

/// One example of a contract.
#[derive(Clone, Debug)]
pub struct Example {
    /// The name of the example.
    pub name: String,
    /// The input of the call.
    pub input: Json,
    /// The output that the call must return; `None` where any will do.
    pub output: Option<Json>,
}

/// The default timeout of a call in milliseconds.
pub const DEFAULT_TIMEOUT_MS: u64 = 30_000;

/// Reads a TOOL.md's frontmatter.
pub(crate) fn read(source: &Source, node: &Node, report: &mut Report) -> Option<Arc<ToolManifest>> {
    check(node, &documents::tool::TOOL, "T001", report);
    let tool = from_node(source.file(), node)?;
    lint::check(&tool, node, report);
    Some(Arc::new(tool))
}

fn from_node(file: &Arc<str>, node: &Node) -> Option<ToolManifest> {
    let version = shared(node, "version")?;
    let metadata = node.get("metadata");
    let haft = metadata.and_then(|metadata| metadata.get("haft"));
    let constraints = node.get("driver_constraints");
    let kinds = |key| {
        let names = constraints.map(|node| list(node, key)).unwrap_or_default();
        names.iter().filter_map(|name| DriverKind::parse(name)).collect()
    };
    Some(ToolManifest {
        file: file.clone(),
        name: shared(node, "name")?,
        key: ToolKey { id: ToolId::from(text(node, "id")?), major: range::major(&version)? },
        description: shared(node, "description")?,
        inputs: json(node, "inputs")?,
        outputs: json(node, "outputs")?,
        context_schema: haft
            .and_then(|haft| json(haft, "context_schema"))
            .or_else(|| metadata.and_then(|metadata| json(metadata, "contextSchema")))
            .or_else(|| json(node, "contextSchema")),
        idempotent: flag(node, "idempotent").unwrap_or(false),
        mutates: node.get("mutates").map(|_| set(node, "mutates")),
        requires: node.get("requires").map(requires),
        approval: text(node, "approval").and_then(Approval::parse),
        risk: node.get("risk_level").and_then(Node::integer).and_then(Risk::new),
        cost_class: cost_class(node).unwrap_or_default(),
        timeout_ms: whole(node, "timeout_ms").unwrap_or(DEFAULT_TIMEOUT_MS),
        retry: retry(node, "retry"),
        default_implementation: text(node, "default_implementation").map(DriverId::from),
        implements: node.get("implements").and_then(|node| action_ref(file, node)),
        forbid: kinds("forbid"),
        require_kind: kinds("require_kind"),
        tags: list(node, "tags"),
        examples: node.get("examples").map(examples).unwrap_or_default(),
        extras: haft.map(Extras::read).unwrap_or_default(),
        metadata: metadata.map(foreign_metadata).unwrap_or_default(),
        version,
    })
}

fn action_ref(file: &Arc<str>, node: &Node) -> Option<ActionRef> {
    if let Some(name) = node.text() {
        return Some(ActionRef::Named(name.to_owned()));
    }
    if let Some(inline) = node.get("inline") {
        return action::from_node(file, inline).map(|action| ActionRef::Inline(Arc::new(action)));
    }
    owned(node, "ref").or_else(|| owned(node, "file")).map(ActionRef::Named)
}

fn examples(node: &Node) -> Vec<Example> {
    let example = |node: &Node| {
        Some(Example {
            name: owned(node, "name")?,
            input: json(node, "input")?,
            output: json(node, "output"),
        })
    };
    node.items().iter().filter_map(example).collect()
}

/// Metadata that is not ours and not a schema.
fn foreign_metadata(node: &Node) -> Json {
    let mut metadata = node.to_json();
    if let Some(fields) = metadata.as_object_mut() {
        fields.retain(|name, _| name != "haft" && name != "contextSchema");
    }
    metadata
}
