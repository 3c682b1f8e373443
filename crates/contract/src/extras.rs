//! Tool extras: `metadata.haft`, the fields that Agent Tool and ARuntime add to a contract beyond
//! AIP-14.

use std::collections::BTreeSet;

use haft_model::{
    Approval, BackgroundMode, CallRate, Date, EffectClass, FactRule, IdempotencyMode,
    InterruptBehavior, Lifecycle, LifecycleDates, NonInteractive, Period, PersistMode, RateScope,
    Span as Duration, parse_date,
};
use serde_json::Value as Json;

use crate::read::{duration, flag, json, list, owned, text, whole};
use crate::source::Node;

/// The extras of one contract, as written.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// A title for people.
    pub title: Option<String>,
    /// Alternative names by which callers find the tool.
    pub aliases: Vec<String>,
    /// Words that search matches beside the description.
    pub search_hint: Option<String>,
    /// Opts out of deferred loading: the schema is sent wherever the tool is visible.
    pub always_load: bool,
    /// The name that models and clients see instead of the id.
    pub exposed_as: Option<String>,
    /// Agent Tool's `tool_kind`.
    pub kind: Option<String>,
    /// Tool classes that the author states.
    pub classes: BTreeSet<EffectClass>,
    /// Template of the resource that idempotency keys and locks are bound to.
    pub resource: Option<String>,
    /// Idempotency settings: how the host recognises a repeated call.
    pub idempotency: Option<Idempotency>,
    /// Status query: how the host resolves a call whose outcome is unknown.
    pub status: Option<StatusQuery>,
    /// Compensation: the tool that undoes a call.
    pub compensation: Option<Compensation>,
    /// Concurrency limits and locks of a call.
    pub concurrency: Concurrency,
    /// Rate limits of the tool.
    pub limits: Vec<CallRate>,
    /// What an interruption does to a running call.
    pub interrupt: Option<InterruptBehavior>,
    /// Whether the backend supports cancellation of a running call.
    pub supports_cancel: Option<bool>,
    /// Whether callers go on while the call runs and fetch the result later.
    pub background: Option<BackgroundMode>,
    /// What an approval request becomes where no approver is reachable.
    pub non_interactive: Option<NonInteractive>,
    /// Data classification of inputs and outputs.
    pub classification: Option<String>,
    /// Redaction: inputs that appear in no log.
    pub sensitive: Vec<String>,
    /// Inputs that the host fills in and that no model may set.
    pub internal: Vec<String>,
    /// How many characters of a result are sent inline.
    pub max_inline_chars: Option<u64>,
    /// What happens to the part of a result beyond `max_inline_chars`.
    pub persist: Option<PersistMode>,
    /// Redaction: outputs that no caller and no approver sees.
    pub redact: Vec<String>,
    /// Values that may appear in the audit log.
    pub audit: Vec<String>,
    /// The errors that the tool declares.
    pub errors: Vec<DeclaredError>,
    /// The dates of introduction, deprecation and removal.
    pub lifecycle: LifecycleDates,
    /// Safety facts that the author states.
    pub facts: StatedFacts,
    /// The source that the contract was imported from.
    pub imported: Option<ImportSource>,
}

/// Idempotency settings of a tool.
#[derive(Clone, Debug, Default)]
pub struct Idempotency {
    /// Whether calls carry an idempotency key.
    pub mode: Option<IdempotencyMode>,
    /// The template of the idempotency key.
    pub key: Option<String>,
    /// How long the host remembers an idempotency key.
    pub ttl: Option<Duration>,
    /// Deduplication window: how long an identical call counts as the same intent.
    pub window: Option<Duration>,
}

/// Status query: how the host resolves a call whose response was lost.
#[derive(Clone, Debug)]
pub struct StatusQuery {
    /// The tool that reports the status.
    pub tool: String,
    /// The input of the status tool.
    pub input: Json,
    /// The condition under which the call took effect.
    pub committed: Option<String>,
    /// The condition under which the call had no effect.
    pub absent: Option<String>,
    /// How long after the time of an attempt the backend may still carry it out.
    pub final_after: Option<Duration>,
    /// The template of the result that the call adopts.
    pub output: Json,
}

/// Compensation of a call.
#[derive(Clone, Debug)]
pub struct Compensation {
    /// The tool that undoes the call.
    pub tool: String,
    /// The input of the compensating tool.
    pub input: Json,
    /// The approval class of the compensation.
    pub approval: Option<Approval>,
    /// How long after a call its compensation is possible.
    pub window: Option<Duration>,
}

/// Concurrency of a tool's calls.
#[derive(Clone, Debug, Default)]
pub struct Concurrency {
    /// Whether calls may overlap.
    pub safe: FactRule,
    /// Templates of the locks that a call holds while it runs.
    pub locks: Vec<String>,
    /// How many calls may run at once.
    pub max_parallel: Option<u64>,
}

/// An error of the tool's own.
#[derive(Clone, Debug)]
pub struct DeclaredError {
    /// The code that the tool returns.
    pub code: String,
    /// Whether a retry can help.
    pub retryable: bool,
    /// What the error means, for the reader of it.
    pub meaning: Option<String>,
}

/// Safety facts that an author states outright.
#[derive(Clone, Debug, Default)]
pub struct StatedFacts {
    /// Whether it changes nothing.
    pub read_only: FactRule,
    /// Whether it can destroy.
    pub destructive: FactRule,
    /// Whether it can reach unlisted hosts.
    pub open_world: FactRule,
}

/// The source that a contract was imported from.
#[derive(Clone, Debug)]
pub struct ImportSource {
    /// The kind of source, such as an MCP server or an OpenAPI document.
    pub from: String,
    /// The address or path of the source.
    pub source: String,
    /// The tool's name in the source.
    pub name: Option<String>,
    /// Its `operationId` in an OpenAPI document.
    pub operation: Option<String>,
    /// Whether the operator of this workspace vouches for the effects that the contract states.
    pub vouched: bool,
}

impl Extras {
    /// The extras out of a checked `metadata.haft`.
    pub(crate) fn read(node: &Node) -> Extras {
        let data = node.get("data");
        let result = node.get("result");
        let lists = |node: Option<&Node>, key| node.map(|node| list(node, key)).unwrap_or_default();
        Extras {
            title: owned(node, "title"),
            aliases: list(node, "aliases"),
            search_hint: owned(node, "search_hint"),
            always_load: flag(node, "always_load") == Some(true),
            exposed_as: owned(node, "exposed_as"),
            kind: owned(node, "kind"),
            classes: list(node, "class")
                .iter()
                .filter_map(|name| EffectClass::parse(name))
                .collect(),
            resource: owned(node, "resource"),
            idempotency: node.get("idempotency").map(|node| Idempotency {
                mode: text(node, "mode").and_then(IdempotencyMode::parse),
                key: owned(node, "key"),
                ttl: duration(node, "ttl"),
                window: duration(node, "window"),
            }),
            status: node.get("status").and_then(StatusQuery::read),
            compensation: node.get("compensation").and_then(Compensation::read),
            concurrency: node.get("concurrency").map(Concurrency::read).unwrap_or_default(),
            limits: node.get("limits").map(rates).unwrap_or_default(),
            interrupt: text(node, "interrupt").and_then(InterruptBehavior::parse),
            supports_cancel: flag(node, "supports_cancel"),
            background: text(node, "background").and_then(BackgroundMode::parse),
            non_interactive: text(node, "non_interactive").and_then(NonInteractive::parse),
            classification: data.and_then(|node| owned(node, "classification")),
            sensitive: lists(data, "sensitive"),
            internal: lists(data, "internal"),
            max_inline_chars: result.and_then(|node| whole(node, "max_inline_chars")),
            persist: result.and_then(|node| text(node, "persist")).and_then(PersistMode::parse),
            redact: lists(result, "redact"),
            audit: list(node, "audit"),
            errors: node.get("errors").map(declared_errors).unwrap_or_default(),
            lifecycle: node.get("lifecycle").map(lifecycle).unwrap_or_default(),
            facts: node.get("facts").map(StatedFacts::read).unwrap_or_default(),
            imported: node.get("imported").and_then(ImportSource::read),
        }
    }
}

impl StatusQuery {
    fn read(node: &Node) -> Option<StatusQuery> {
        Some(StatusQuery {
            tool: owned(node, "tool")?,
            input: json(node, "input").unwrap_or_default(),
            committed: owned(node, "committed"),
            absent: owned(node, "absent"),
            final_after: duration(node, "final_after"),
            output: json(node, "output").unwrap_or_default(),
        })
    }
}

impl Compensation {
    fn read(node: &Node) -> Option<Compensation> {
        Some(Compensation {
            tool: owned(node, "tool")?,
            input: json(node, "input").unwrap_or_default(),
            approval: text(node, "approval").and_then(Approval::parse),
            window: duration(node, "window"),
        })
    }
}

impl Concurrency {
    fn read(node: &Node) -> Concurrency {
        Concurrency {
            safe: fact(node, "safe"),
            locks: list(node, "locks"),
            max_parallel: whole(node, "max_parallel"),
        }
    }
}

impl StatedFacts {
    fn read(node: &Node) -> StatedFacts {
        StatedFacts {
            read_only: fact(node, "read_only"),
            destructive: fact(node, "destructive"),
            open_world: fact(node, "open_world"),
        }
    }
}

impl ImportSource {
    /// The operation's id in its OpenAPI document: its `operationId`, or its method and path where
    /// the document gives it none.
    pub fn operation_id(&self) -> Option<&str> {
        let name = self.operation.as_deref().or(self.name.as_deref());
        name.filter(|_| self.from == "openapi")
    }

    pub(crate) fn read(node: &Node) -> Option<ImportSource> {
        Some(ImportSource {
            from: owned(node, "from")?,
            source: owned(node, "source")?,
            name: owned(node, "name"),
            operation: owned(node, "operation"),
            vouched: text(node, "effects") == Some("vouched"),
        })
    }
}

/// A safety fact as it is written: a flag or a rule.
pub(crate) fn fact(node: &Node, key: &str) -> FactRule {
    match node.get(key) {
        Some(value) => match (value.flag(), value.text()) {
            (Some(flag), _) => FactRule::Stated(flag),
            (None, Some(text)) => FactRule::parse(text),
            (None, None) => FactRule::Unstated,
        },
        None => FactRule::Unstated,
    }
}

/// Rate limits of a tool; a limit without a scope counts the calls of all actors together.
pub(crate) fn rates(node: &Node) -> Vec<CallRate> {
    let rate = |node: &Node| {
        let scope = text(node, "scope").map_or(Some(RateScope::Tool), RateScope::parse)?;
        Some(CallRate {
            per: text(node, "per").and_then(Period::parse)?,
            value: whole(node, "value")?,
            scope,
        })
    };
    node.items().iter().filter_map(rate).collect()
}

fn declared_errors(node: &Node) -> Vec<DeclaredError> {
    let error = |node: &Node| {
        Some(DeclaredError {
            code: owned(node, "code")?,
            retryable: flag(node, "retryable").unwrap_or(false),
            meaning: owned(node, "meaning"),
        })
    };
    node.items().iter().filter_map(error).collect()
}

fn lifecycle(node: &Node) -> LifecycleDates {
    let date = |key| text(node, key).and_then(parse_date);
    LifecycleDates {
        state: text(node, "state").and_then(Lifecycle::parse).unwrap_or_default(),
        introduced: date("introduced"),
        deprecated: date("deprecated"),
        removal: date("removal"),
        replacement: owned(node, "replacement"),
    }
}

/// The first date that lies before one it should follow, and that one.
pub(crate) fn out_of_order(dates: &LifecycleDates) -> Option<(&'static str, Date, Date)> {
    let in_order = [
        (dates.introduced, dates.deprecated, "deprecated"),
        (dates.deprecated, dates.removal, "removal"),
        (dates.introduced, dates.removal, "removal"),
    ];
    in_order.into_iter().find_map(|(earlier, later, name)| {
        let (earlier, later) = (earlier?, later?);
        (later < earlier).then_some((name, later, earlier))
    })
}
