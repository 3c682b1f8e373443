//! Tool builder: contracts whose schemas come from Rust types.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use haft_contract::{Diagnostic, Example};
use haft_model::{Approval, CostClass, Digest, DriverKind, EffectClass, Requires, RetryPolicy};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{DefineError, DefinedManifest, ToolDefinition, schema};

/// Where a typed contract begins: what goes in, what comes out, and what the host adds.
///
/// ```
/// # #[derive(schemars::JsonSchema, serde::Deserialize)] struct In { path: String }
/// # #[derive(schemars::JsonSchema, serde::Serialize)] struct Out { lines: u32 }
/// let count = haft::Tool::<In, Out>::builder("lines.count")
///     .description("Counts the lines of a file.")
///     .read_only()
///     .define()?;
/// # Ok::<(), haft::DefineError>(())
/// ```
///
/// A contract has no body, so nothing takes one; a driver does:
///
/// ```compile_fail,E0599
/// # #[derive(schemars::JsonSchema, serde::Deserialize)] struct In { path: String }
/// # #[derive(schemars::JsonSchema, serde::Serialize)] struct Out { lines: u32 }
/// let count = haft::Tool::<In, Out>::builder("lines.count")
///     .description("Counts the lines of a file.")
///     .read_only()
///     .execute(|input: In| Out { lines: 0 })
///     .define()?;
/// # Ok::<(), haft::DefineError>(())
/// ```
pub struct Tool<In, Out, Ctx = Value>(PhantomData<Types<In, Out, Ctx>>);

/// Types that a handle speaks of and does not hold.
type Types<In, Out, Ctx> = fn(In, Ctx) -> Out;

impl<In, Out, Ctx> Tool<In, Out, Ctx>
where
    In: JsonSchema + DeserializeOwned,
    Out: JsonSchema + Serialize,
    Ctx: JsonSchema + DeserializeOwned,
{
    /// A contract of this id, with the schemas of its types and nothing else said.
    pub fn builder(id: impl Into<String>) -> ToolBuilder<In, Out, Ctx> {
        let definition = ToolDefinition {
            id: id.into(),
            inputs: schema::of_input::<In>(),
            outputs: schema::of_output::<Out>(),
            context_schema: schema::of_context::<Ctx>(),
            ..ToolDefinition::default()
        };
        ToolBuilder { definition, types: PhantomData }
    }
}

/// A typed contract that is being written. What is left out stays unsaid, and counts as in a file.
#[derive(Clone, Debug)]
#[must_use]
pub struct ToolBuilder<In, Out, Ctx = Value> {
    definition: ToolDefinition,
    types: PhantomData<Types<In, Out, Ctx>>,
}

/// One method for each field that is given as it is.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident => $field:ident: $type:ty;)*) => {
        $($(#[$doc])* pub fn $name(mut self, $name: impl Into<$type>) -> Self {
            self.definition.$field = Some($name.into());
            self
        })*
    };
}

/// One method for each list.
macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident => $field:ident: $type:ty;)*) => {
        $($(#[$doc])* pub fn $name(
            mut self,
            $name: impl IntoIterator<Item = impl Into<$type>>,
        ) -> Self {
            self.definition.$field.extend($name.into_iter().map(Into::into));
            self
        })*
    };
}

impl<In, Out, Ctx> ToolBuilder<In, Out, Ctx> {
    fields! {
        /// Its name for people.
        name => name: String;
        /// Its version; 1.0.0 when absent.
        version => version: String;
        /// Capabilities that it needs.
        requires => requires: Requires;
        /// The approval class.
        approval => approval: Approval;
        /// The risk level, from 0 to 3.
        risk => risk_level: u8;
        /// The cost class of a call.
        cost_class => cost_class: CostClass;
        /// Timeout of a call in milliseconds.
        timeout_ms => timeout_ms: u64;
        /// The retry policy.
        retry => retry: RetryPolicy;
        /// Whether a second execution has no further effect.
        idempotent => idempotent: bool;
        /// The driver that routing prefers.
        default_implementation => default_implementation: String;
        /// The action it implements.
        implements => implements: String;
        /// A title for people.
        title => title: String;
        /// Words that search matches beside the description.
        search_hint => search_hint: String;
    }

    lists! {
        /// Kinds of driver that may never serve it.
        forbid => forbid: DriverKind;
        /// The only kinds of driver that may serve it.
        require_kind => require_kind: DriverKind;
        /// Words that search matches.
        tags => tags: String;
        /// Alternative names by which callers find the tool.
        aliases => aliases: String;
        /// Its effect classes.
        class => classes: EffectClass;
        /// Redaction: inputs that appear in no log, as JSON pointers.
        sensitive => sensitive: String;
        /// Inputs that no model may fill in, as JSON pointers.
        internal => internal: String;
    }

    /// The description for the model: what it does and when to use it.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = description.into();
        self
    }

    /// The resources that it may mutate, and no others.
    pub fn mutates(mut self, mutates: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.definition.mutates = Some(mutates.into_iter().map(Into::into).collect());
        self
    }

    /// States that it changes nothing and has the lowest risk.
    pub fn read_only(self) -> Self {
        self.mutates([""; 0]).risk(0)
    }

    /// An input and, where it is known, what has to come out.
    pub fn example(mut self, name: impl Into<String>, input: Value, output: Option<Value>) -> Self {
        self.definition.examples.push(Example { name: name.into(), input, output });
        self
    }

    /// Another key of `metadata.haft`, such as `concurrency` or `compensation`.
    pub fn extra(mut self, name: impl Into<String>, value: Value) -> Self {
        self.definition.extras.insert(name.into(), value);
        self
    }

    /// Other people's metadata.
    pub fn metadata(mut self, name: impl Into<String>, value: Value) -> Self {
        self.definition.metadata.insert(name.into(), value);
        self
    }

    /// The contract, or everything that is wrong with it.
    pub fn define(self) -> Result<ToolHandle<In, Out, Ctx>, DefineError> {
        self.definition.define()
    }
}

/// A contract that was defined in code, with the types of its schemas.
pub struct ToolHandle<In, Out, Ctx = Value> {
    pub(crate) defined: DefinedManifest<haft_contract::ToolManifest>,
    types: PhantomData<Types<In, Out, Ctx>>,
}

impl<In, Out, Ctx> ToolHandle<In, Out, Ctx> {
    pub(super) fn new(defined: DefinedManifest<haft_contract::ToolManifest>) -> Self {
        ToolHandle { defined, types: PhantomData }
    }

    /// The contract, as a TOOL.md would have given it.
    pub fn contract(&self) -> &Arc<haft_contract::ToolManifest> {
        &self.defined.value
    }

    /// The digest of both schemas, whatever the order of their keys.
    pub fn schema_digest(&self) -> Digest {
        Digest::of(&(&self.contract().inputs, &self.contract().outputs))
    }

    /// Warnings that its author should look at, though none forbids its use.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.defined.diagnostics
    }
}

impl<In, Out, Ctx> Clone for ToolHandle<In, Out, Ctx> {
    fn clone(&self) -> Self {
        ToolHandle::new(self.defined.clone())
    }
}

impl<In, Out, Ctx> fmt::Debug for ToolHandle<In, Out, Ctx> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolHandle").field(&self.contract().key).finish()
    }
}
