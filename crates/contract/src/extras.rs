//! `metadata.haft`: what Agent Tool and ARuntime ask of a contract beyond AIP-14.

use std::collections::BTreeSet;

use haft_model::{
    Approval, CallRate, Date, EffectClass, FactRule, Lifecycle, LifecycleDates, Period, RateScope,
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
    /// Other names.
    pub aliases: Vec<String>,
    /// Words to find it by.
    pub search_hint: Option<String>,
    /// Whether its schema is shown wherever it is seen, however many others there are.
    pub always_load: bool,
    /// The name that models and clients see instead of the id.
    pub exposed_as: Option<String>,
    /// Agent Tool's `tool_kind`.
    pub kind: Option<String>,
    /// Tool classes that the author states.
    pub classes: BTreeSet<EffectClass>,
    /// What keys and locks are bound to.
    pub resource: Option<String>,
    /// How a repeated call is recognised.
    pub idempotency: Option<Idempotency>,
    /// How to learn what became of a call.
    pub status: Option<StatusQuery>,
    /// How a call is undone.
    pub compensation: Option<Compensation>,
    /// What may run beside it.
    pub concurrency: Concurrency,
    /// How often it may be called.
    pub limits: Vec<CallRate>,
    /// `cancel` or `block`.
    pub interrupt: Option<String>,
    /// Whether a running call can be called off.
    pub supports_cancel: Option<bool>,
    /// `allowed` or `required`: whether callers go on while it runs, and come back for the answer.
    pub background: Option<String>,
    /// What an ask becomes where nobody can be asked.
    pub non_interactive: Option<String>,
    /// How sensitive the data is.
    pub classification: Option<String>,
    /// Inputs that appear in no log.
    pub sensitive: Vec<String>,
    /// Inputs that no model may fill in.
    pub internal: Vec<String>,
    /// How much of a result is shown.
    pub max_inline_chars: Option<u64>,
    /// What happens to the rest.
    pub persist: Option<String>,
    /// Outputs that nobody is shown.
    pub redact: Vec<String>,
    /// Values that may stand in the log.
    pub audit: Vec<String>,
    /// The tool's own errors.
    pub errors: Vec<DeclaredError>,
    /// When it came and when it goes.
    pub lifecycle: LifecycleDates,
    /// Safety facts the author vouches for.
    pub facts: StatedFacts,
    /// Where it was imported from.
    pub imported: Option<ImportSource>,
}

/// How a repeated call is recognised.
#[derive(Clone, Debug, Default)]
pub struct Idempotency {
    /// `none`, `natural`, `optional` or `required`.
    pub mode: Option<String>,
    /// The key's template.
    pub key: Option<String>,
    /// How long a key is remembered.
    pub ttl: Option<Duration>,
    /// How long an identical call is the same intent.
    pub window: Option<Duration>,
}

/// How to learn what became of a call whose answer was lost.
#[derive(Clone, Debug)]
pub struct StatusQuery {
    /// The tool that knows.
    pub tool: String,
    /// Its input.
    pub input: Json,
    /// The condition that says it happened.
    pub committed: Option<String>,
    /// The condition that says it did not.
    pub absent: Option<String>,
    /// How long after the time of an attempt the backend may still carry it out.
    pub final_after: Option<Duration>,
    /// The result to adopt.
    pub output: Json,
}

/// How a call is undone.
#[derive(Clone, Debug)]
pub struct Compensation {
    /// The tool that undoes.
    pub tool: String,
    /// Its input.
    pub input: Json,
    /// Whether undoing asks.
    pub approval: Option<Approval>,
    /// How long undoing is possible.
    pub window: Option<Duration>,
}

/// What may run beside a call.
#[derive(Clone, Debug, Default)]
pub struct Concurrency {
    /// Whether calls may overlap.
    pub safe: FactRule,
    /// What a call holds while it runs.
    pub locks: Vec<String>,
    /// How many may run at once.
    pub max_parallel: Option<u64>,
}

/// An error of the tool's own.
#[derive(Clone, Debug)]
pub struct DeclaredError {
    /// Its code.
    pub code: String,
    /// Whether trying again can help.
    pub retryable: bool,
    /// What it means.
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

/// Where a contract was imported from.
#[derive(Clone, Debug)]
pub struct ImportSource {
    /// What kind of source.
    pub from: String,
    /// Which one.
    pub source: String,
    /// What the tool is called there.
    pub name: Option<String>,
    /// Its `operationId` in an OpenAPI document.
    pub operation: Option<String>,
    /// Whether somebody here vouches for the effects that the contract states.
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
                mode: owned(node, "mode"),
                key: owned(node, "key"),
                ttl: duration(node, "ttl"),
                window: duration(node, "window"),
            }),
            status: node.get("status").and_then(StatusQuery::read),
            compensation: node.get("compensation").and_then(Compensation::read),
            concurrency: node.get("concurrency").map(Concurrency::read).unwrap_or_default(),
            limits: node.get("limits").map(rates).unwrap_or_default(),
            interrupt: owned(node, "interrupt"),
            supports_cancel: flag(node, "supports_cancel"),
            background: owned(node, "background"),
            non_interactive: owned(node, "non_interactive"),
            classification: data.and_then(|node| owned(node, "classification")),
            sensitive: lists(data, "sensitive"),
            internal: lists(data, "internal"),
            max_inline_chars: result.and_then(|node| whole(node, "max_inline_chars")),
            persist: result.and_then(|node| owned(node, "persist")),
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
    /// What it is called in the OpenAPI document that it is from: its `operationId`, or its method
    /// and path where the document gives it none.
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

/// How often a tool may be called; where nobody says whose calls, everybody's.
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
