//! Agent Tool interface: an overlay of behaviour on a tool's contract; it only tightens.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_model::{Approval, ApprovalClass, FactRule, InterruptBehavior, Lifecycle};
use haft_notation::{Condition, inspect};
use serde_json::{Map, Value as Json, json};

use crate::agent_tool::{KEPT, stated};
use crate::extras::{StatedFacts, fact};
use crate::foreign::{needs, object_schemas, split_version};
use crate::read::{flag, json as to_json, list, owned, set, text, whole};
use crate::shape::{check, documents};
use crate::source::{Node, Value};
use crate::tool::open_schema;
use crate::{Report, Source, ToolManifest, range, rules};

/// The metadata key under which a contract keeps the applied interface.
const KEPT_INTERFACE: &str = "agent-tool-interface";

/// An interface: the behaviour that it states of its tool.
#[derive(Clone, Debug)]
pub struct Interface {
    /// The file it came from.
    pub file: Arc<str>,
    /// Its own id.
    pub id: String,
    /// The tool it describes, as it is written.
    pub tool_id: String,
    /// Other names of the tool.
    pub aliases: Vec<String>,
    /// Words to find the tool by.
    pub search_hint: Option<String>,
    /// JSON Schema of the input that a model may fill in.
    pub inputs: Option<Json>,
    /// JSON Schema of the output.
    pub outputs: Option<Json>,
    /// The lifecycle state: disabled, waiting for setup, or deferred; available when nothing is
    /// said.
    pub lifecycle: Lifecycle,
    /// The safety facts.
    pub facts: StatedFacts,
    /// Whether calls may overlap.
    pub concurrency_safe: FactRule,
    /// Whether a person has to take part in each call.
    pub asks: bool,
    /// The secrets it uses.
    pub secrets: BTreeSet<String>,
    /// Timeout of a call in milliseconds.
    pub timeout_ms: Option<u64>,
    /// What an interruption does to a running call.
    pub interrupt: Option<InterruptBehavior>,
    /// How much of a result is shown.
    pub max_inline_chars: Option<u64>,
    /// The whole record, as it was written.
    pub raw: Json,
}

/// Reads an interface.
pub(crate) fn read_interface(
    source: &Source,
    node: &Node,
    report: &mut Report,
) -> Option<Arc<Interface>> {
    check(node, &documents::agent_tool::INTERFACE, "J020", report);
    stated(node, &["schema_version"], report);
    object_schemas(node, &[&["model_input_schema"], &["output_schema"]], report);
    Some(Arc::new(Interface {
        file: source.file().clone(),
        id: owned(node, "interface_id")?,
        tool_id: owned(node, "tool_id")?,
        aliases: list(node, "aliases"),
        search_hint: owned(node, "search_hint"),
        inputs: to_json(node, "model_input_schema"),
        outputs: to_json(node, "output_schema"),
        lifecycle: lifecycle(node, report),
        facts: StatedFacts {
            read_only: settled(node, "is_read_only", false, report),
            destructive: settled(node, "is_destructive", true, report),
            open_world: settled(node, "is_open_world", true, report),
        },
        concurrency_safe: settled(node, "is_concurrency_safe", false, report),
        asks: flag(node, "requires_user_interaction").unwrap_or(false),
        secrets: set(node, "required_credentials"),
        timeout_ms: whole(node, "timeout_ms"),
        interrupt: text(node, "interrupt_behavior").and_then(InterruptBehavior::parse),
        max_inline_chars: whole(node, "max_inline_chars"),
        raw: node.to_json(),
    }))
}

impl Interface {
    /// Whether this is about a tool: by the id its declaration gave it, or by its key.
    pub fn describes(&self, tool: &ToolManifest) -> bool {
        let declared = tool.metadata.get(KEPT).and_then(|kept| kept.get("tool_id"));
        if declared.and_then(Json::as_str) == Some(&self.tool_id) {
            return true;
        }
        let (id, version) = split_version(&self.tool_id);
        let major = version.as_deref().and_then(range::major);
        id == tool.key.id.as_str() && major.is_none_or(|major| major == tool.key.major)
    }
}

/// A tool with what its interface says. What the tool left open is filled in, and where both speak
/// the stricter holds, so nothing the tool says is ever loosened.
pub fn apply(interface: &Interface, tool: &ToolManifest) -> ToolManifest {
    let mut tool = tool.clone();
    if let Some(limit) = interface.timeout_ms {
        tool.timeout_ms = if names_no_deadline(&tool) { limit } else { tool.timeout_ms.min(limit) };
    }
    if let Some(schema) = &interface.inputs {
        tool.inputs = both(&tool.inputs, schema);
    }
    if let Some(schema) = &interface.outputs {
        tool.outputs = both(&tool.outputs, schema);
    }
    if interface.asks {
        let always = Approval { class: ApprovalClass::Always, policies: BTreeSet::new() };
        tool.approval = Some(tool.approval.unwrap_or_default().and(&always));
    }
    tool.requires = match (tool.requires, needs(None, interface.secrets.clone())) {
        (Some(mut own), Some(more)) => {
            own.secrets.extend(more.secrets);
            Some(own)
        }
        (own, more) => own.or(more),
    };
    extras(interface, &mut tool);
    keep(&mut tool.metadata, &interface.raw);
    tool
}

fn extras(interface: &Interface, tool: &mut ToolManifest) {
    let extras = &mut tool.extras;
    let more = interface.aliases.iter().filter(|alias| !extras.aliases.contains(alias));
    let more: Vec<String> = more.cloned().collect();
    extras.aliases.extend(more);
    extras.search_hint = extras.search_hint.take().or_else(|| interface.search_hint.clone());
    let facts = &mut extras.facts;
    for (own, more, cautious) in [
        (&mut facts.read_only, &interface.facts.read_only, false),
        (&mut facts.destructive, &interface.facts.destructive, true),
        (&mut facts.open_world, &interface.facts.open_world, true),
        (&mut extras.concurrency.safe, &interface.concurrency_safe, false),
    ] {
        *own = stricter(own, more, cautious);
    }
    extras.lifecycle.state = match extras.lifecycle.state {
        Lifecycle::Available => interface.lifecycle,
        callable if callable.callable() && !interface.lifecycle.callable() => interface.lifecycle,
        own => own,
    };
    extras.interrupt = match (extras.interrupt, interface.interrupt) {
        (Some(own), Some(more)) if own != more => Some(InterruptBehavior::Block),
        (own, more) => own.or(more),
    };
    let limits = [extras.max_inline_chars, interface.max_inline_chars];
    extras.max_inline_chars = limits.into_iter().flatten().min();
}

/// Whether the timeout is the default: a declaration has no field for one, so no author stated it.
fn names_no_deadline(tool: &ToolManifest) -> bool {
    tool.metadata.get(KEPT).is_some() && tool.metadata.get(KEPT_INTERFACE).is_none()
}

fn keep(metadata: &mut Json, raw: &Json) {
    if !metadata.is_object() {
        *metadata = Json::Object(Map::new());
    }
    if let Some(fields) = metadata.as_object_mut() {
        fields.insert(KEPT_INTERFACE.into(), raw.clone());
    }
}

/// A schema that both sides accept. Where the other's references would lead astray inside ours, ours
/// stands alone.
fn both(own: &Json, other: &Json) -> Json {
    if *own == open_schema() {
        return other.clone();
    }
    if own == other {
        return own.clone();
    }
    let mut joined = own.clone();
    if let Some(fields) = joined.as_object_mut() {
        let all = fields.entry("allOf").or_insert_with(|| json!([]));
        if let Some(all) = all.as_array_mut() {
            all.push(other.clone());
        }
    }
    if inspect(&joined).is_empty() { joined } else { own.clone() }
}

/// The rule that grants less: the cautious value over any rule, a rule over the reassuring value, and
/// the cautious value where two rules differ.
fn stricter(own: &FactRule, other: &FactRule, cautious: bool) -> FactRule {
    let reassuring = FactRule::Stated(!cautious);
    match (own, other) {
        (FactRule::Unstated, rule) | (rule, FactRule::Unstated) => rule.clone(),
        (own, other) if own == other => own.clone(),
        (own, other) if *own == reassuring => other.clone(),
        (own, other) if *other == reassuring => own.clone(),
        _ => FactRule::Stated(cautious),
    }
}

/// The facts of an interface that another one may follow.
const FACTS: [&str; 4] = ["is_read_only", "is_destructive", "is_open_world", "is_concurrency_safe"];

/// A fact as written; a fact that cannot be evaluated takes its cautious value.
fn settled(node: &Node, key: &str, cautious: bool, report: &mut Report) -> FactRule {
    let rule = fact(node, key);
    let understood = match &rule {
        FactRule::Stated(_) | FactRule::Unstated => true,
        FactRule::SameAs(other) => other != key && FACTS.contains(&other.as_str()),
        // An empty one was refused with the field.
        FactRule::Expression(text) if text.is_empty() => true,
        FactRule::Expression(text) => Condition::parse(text, &["input"]).is_ok(),
        FactRule::Classifier(_) => {
            if !node.get("classifier_input").is_some_and(says_something) {
                report
                    .add(
                        &rules::E057,
                        node.place(&[key]),
                        format!("`{key}` is left to a classifier, and `classifier_input` is empty"),
                    )
                    .help("say in `classifier_input` what the classifier looks at");
            }
            true
        }
    };
    if understood {
        return rule;
    }
    unsettled(node, key, cautious, report);
    FactRule::Stated(cautious)
}

fn says_something(node: &Node) -> bool {
    match &node.value {
        Value::Null => false,
        Value::Flag(_) | Value::Number(_) => true,
        Value::Text(text) => !text.trim().is_empty(),
        Value::List(items) => !items.is_empty(),
        Value::Map(entries) => !entries.is_empty(),
    }
}

fn unsettled(node: &Node, key: &str, value: bool, report: &mut Report) {
    let rule = text(node, key).unwrap_or_default();
    report
        .add(
            &rules::J044,
            node.place(&[key]),
            format!("nothing can settle `{key}` by `{rule}`, so it counts as {value}"),
        )
        .help("write true, false or an expression over `input`");
}

fn lifecycle(node: &Node, report: &mut Report) -> Lifecycle {
    let enabled = match fact(node, "is_enabled") {
        FactRule::Stated(enabled) => enabled,
        FactRule::Unstated => true,
        FactRule::Expression(_) | FactRule::Classifier(_) | FactRule::SameAs(_) => {
            // It would have to hold before there is any input to look at.
            unsettled(node, "is_enabled", false, report);
            false
        }
    };
    if !enabled {
        Lifecycle::Disabled
    } else if flag(node, "requires_setup") == Some(true) {
        Lifecycle::RequiresSetup
    } else if text(node, "schema_visibility") == Some("deferred") {
        Lifecycle::Deferred
    } else {
        Lifecycle::Available
    }
}
