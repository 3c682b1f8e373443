//! Tool definition: a contract as a plain value, before any rule checks it.

use haft_contract::{Example, ManifestKind, ParsedManifest};
use haft_model::{Approval, CostClass, DriverKind, EffectClass, Requires, RetryPolicy};
use serde_json::{Map, Value, json};

use super::tool::ToolHandle;
use super::{DefineError, read_written};

/// Everything a contract may say. What is left out stays unsaid, and counts as in a file.
#[derive(Clone, Debug, Default)]
pub struct ToolDefinition {
    /// The tool's id.
    pub id: String,
    /// Its name for people; the title, or else the id.
    pub name: Option<String>,
    /// The description that the model reads.
    pub description: String,
    /// Its version; 1.0.0 when absent.
    pub version: Option<String>,
    /// A JSON Schema for what goes in.
    pub inputs: Value,
    /// A JSON Schema for what comes out.
    pub outputs: Value,
    /// A JSON Schema for what the host adds.
    pub context_schema: Option<Value>,
    /// The resources that it may mutate; `None` leaves it unstated.
    pub mutates: Option<Vec<String>>,
    /// Capabilities that it needs.
    pub requires: Option<Requires>,
    /// The approval class.
    pub approval: Option<Approval>,
    /// The risk level, from 0 to 3.
    pub risk_level: Option<u8>,
    /// The cost class of a call.
    pub cost_class: Option<CostClass>,
    /// Timeout of a call in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The retry policy.
    pub retry: Option<RetryPolicy>,
    /// Whether a second execution has no further effect.
    pub idempotent: Option<bool>,
    /// The driver that routing prefers.
    pub default_implementation: Option<String>,
    /// The action it implements.
    pub implements: Option<String>,
    /// Kinds of driver that may never serve it.
    pub forbid: Vec<DriverKind>,
    /// The only kinds that may; empty means all.
    pub require_kind: Vec<DriverKind>,
    /// Words that search matches.
    pub tags: Vec<String>,
    /// Examples that every driver has to satisfy.
    pub examples: Vec<Example>,
    /// A title for people.
    pub title: Option<String>,
    /// Alternative names by which callers find the tool.
    pub aliases: Vec<String>,
    /// Words that search matches beside the description.
    pub search_hint: Option<String>,
    /// Its effect classes.
    pub classes: Vec<EffectClass>,
    /// Redaction: inputs that appear in no log, as JSON pointers.
    pub sensitive: Vec<String>,
    /// Inputs that no model may fill in, as JSON pointers.
    pub internal: Vec<String>,
    /// The other keys of `metadata.haft`, such as `concurrency` or `compensation`.
    pub extras: Map<String, Value>,
    /// Other people's metadata.
    pub metadata: Map<String, Value>,
}

/// Defines a contract from schemas; there is no place for a body, which belongs to a driver.
pub fn define_tool(definition: ToolDefinition) -> Result<ToolHandle<Value, Value>, DefineError> {
    definition.define()
}

impl ToolDefinition {
    /// The handle under types that the schemas are known to be of.
    pub(super) fn define<In, Out, Ctx>(self) -> Result<ToolHandle<In, Out, Ctx>, DefineError> {
        let file = format!("code:{}", self.id);
        let defined = read_written(ManifestKind::Tool, &file, self.manifest(), |reading| {
            match reading.manifest {
                Some(ParsedManifest::Tool(tool)) => Some(tool),
                _ => None,
            }
        })?;
        Ok(ToolHandle::new(defined))
    }

    /// The frontmatter of an equivalent TOOL.md.
    fn manifest(self) -> Map<String, Value> {
        let metadata = self.all_metadata();
        let name = self.name.or(self.title).unwrap_or_else(|| self.id.clone());
        let mut manifest = Fields::default();
        manifest.put("name", Some(name));
        manifest.put("id", Some(self.id));
        manifest.put("description", Some(self.description));
        manifest.put("version", Some(self.version.unwrap_or_else(|| "1.0.0".into())));
        manifest.put("inputs", Some(self.inputs));
        manifest.put("outputs", Some(self.outputs));
        manifest.put("mutates", self.mutates);
        manifest.put("requires", self.requires.map(|requires| json!(requires)));
        manifest.put("approval", self.approval.map(|approval| approval.to_string()));
        manifest.put("risk_level", self.risk_level);
        manifest.put("cost_class", self.cost_class.map(|class| json!(class)));
        manifest.put("timeout_ms", self.timeout_ms);
        manifest.put("retry", self.retry.map(|retry| json!(retry)));
        manifest.put("idempotent", self.idempotent);
        manifest.put("default_implementation", self.default_implementation);
        manifest.put("implements", self.implements);
        let mut constraints = Fields::default();
        constraints.list("forbid", self.forbid.iter().map(|kind| json!(kind)));
        constraints.list("require_kind", self.require_kind.iter().map(|kind| json!(kind)));
        manifest.map("driver_constraints", constraints);
        manifest.list("tags", self.tags);
        manifest.list("examples", self.examples.into_iter().map(example));
        manifest.map("metadata", metadata);
        manifest.0
    }

    fn all_metadata(&self) -> Fields {
        let mut data = Fields::default();
        data.list("sensitive", self.sensitive.clone());
        data.list("internal", self.internal.clone());
        let mut haft = Fields::default();
        haft.put("title", self.title.clone());
        haft.list("aliases", self.aliases.clone());
        haft.put("search_hint", self.search_hint.clone());
        haft.list("class", self.classes.iter().map(|class| class.name()));
        haft.map("data", data);
        haft.put("context_schema", self.context_schema.clone());
        haft.0.extend(self.extras.clone());
        let mut metadata = Fields(self.metadata.clone());
        metadata.map("haft", haft);
        metadata
    }
}

fn example(example: Example) -> Value {
    let mut fields = Fields::default();
    fields.put("name", Some(example.name));
    fields.put("input", Some(example.input));
    fields.put("output", example.output);
    Value::Object(fields.0)
}

/// The fields of a manifest; what is absent or empty is not written.
#[derive(Default)]
pub(super) struct Fields(pub(super) Map<String, Value>);

impl Fields {
    pub(super) fn put(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.into());
        }
    }

    pub(super) fn list(&mut self, name: &str, items: impl IntoIterator<Item = impl Into<Value>>) {
        let items: Vec<Value> = items.into_iter().map(Into::into).collect();
        self.put(name, (!items.is_empty()).then_some(items));
    }

    pub(super) fn map(&mut self, name: &str, fields: Fields) {
        self.put(name, (!fields.0.is_empty()).then_some(fields.0));
    }
}
