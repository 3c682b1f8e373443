//! Watchdog: no schema, value or output holds the async workers up, whatever it costs to check.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use haft_contract::Severity;
use haft_driver::{Attempt, BoxFuture, Failure, Output};
use haft_model::{Call, Code, Envelope};
use haft_runtime::CallOptions;
use serde_json::{Map, Value, json};

use crate::stage::*;

/// The longest time in which no task of the runtime may make a step. A check that is made on a worker takes
/// milliseconds; one of these schemas, counted or checked on a worker, takes many seconds.
const LONGEST_GAP: Duration = Duration::from_secs(2);

/// How many calls are validated by a schema at the same time: more than there are workers.
const CALLERS: usize = 3;

/// How often the heartbeat beats.
const BEAT: Duration = Duration::from_millis(5);

/// A task that beats on the runtime's own workers and remembers its longest gap.
struct Heartbeat {
    longest: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl Heartbeat {
    fn start() -> Heartbeat {
        let longest = Arc::new(AtomicU64::new(0));
        let seen = longest.clone();
        let task = tokio::spawn(async move {
            let mut beat = tokio::time::interval(BEAT);
            let mut last = Instant::now();
            loop {
                beat.tick().await;
                let gap = u64::try_from(last.elapsed().as_millis()).unwrap_or(u64::MAX);
                seen.fetch_max(gap, Ordering::Relaxed);
                last = Instant::now();
            }
        });
        Heartbeat { longest, task }
    }

    /// The longest gap since it was asked last.
    fn longest_gap(&self) -> Duration {
        Duration::from_millis(self.longest.swap(0, Ordering::Relaxed))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Definitions of which each is made of references to the next.
fn tower(height: usize, join: impl Fn(&str) -> Value, last: Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..height {
        definitions.insert(format!("d{level}"), join(&format!("#/$defs/d{}", level + 1)));
    }
    definitions.insert(format!("d{height}"), last);
    json!({ "type": "object", "allOf": [{ "$ref": "#/$defs/d0" }], "$defs": definitions })
}

fn nested(depth: usize, last: Value) -> Value {
    (0..depth).fold(last, |inner, _| json!({ "a": inner }))
}

fn lists(depth: usize) -> Value {
    json!({ "a": (0..depth).fold(json!(1), |inner, _| json!([inner])) })
}

/// A class of attack, a schema of it, and a value that goes with it.
fn hostile() -> Vec<(&'static str, Value, Value)> {
    let twice = |keyword: &'static str| move |next: &str| json!({ keyword: [{ "$ref": next }, { "$ref": next }] });
    let object = || json!({ "type": "object" });
    let both = |one: Value, other: Value| json!({ "type": "object", "allOf": [one, other] });
    let child = || json!({ "properties": { "a": { "$ref": "#" } } });
    let words: Vec<String> = (0..3000).map(|n| format!("word {n}")).collect();
    let patterns: Map<String, Value> =
        (0..200).map(|n| (format!("^(a|b)*{n}"), json!({ "type": "integer" }))).collect();
    let keys: Map<String, Value> =
        (0..2000).map(|n| (format!("{}{n}", "ab".repeat(20)), json!(n))).collect();
    let mut inner = tower(14, twice("allOf"), object());
    inner["$id"] = json!("urn:example:inner");
    let unique = |count: usize| -> Vec<Value> { (0..count).map(|n| json!([n, "x"])).collect() };
    vec![
        ("allOf of two equal references, 33 deep", tower(33, twice("allOf"), object()), json!({})),
        ("anyOf", tower(33, twice("anyOf"), json!({ "required": ["no"] })), json!({})),
        ("oneOf", tower(33, twice("oneOf"), object()), json!({})),
        (
            "not, if and then",
            tower(
                25,
                |next| json!({ "not": { "$ref": next }, "if": { "$ref": next }, "then": { "$ref": next } }),
                object(),
            ),
            json!({}),
        ),
        (
            "dependentSchemas",
            tower(
                33,
                |next| json!({ "dependentSchemas": { "a": { "$ref": next }, "b": { "$ref": next } } }),
                object(),
            ),
            json!({"a": 1, "b": 1}),
        ),
        ("a chain of references", tower(5000, |next| json!({ "$ref": next }), object()), json!({})),
        (
            "a reference to itself",
            json!({ "type": "object", "allOf": [{ "$ref": "#" }] }),
            json!({}),
        ),
        (
            "a dynamic reference to itself",
            json!({ "type": "object", "$dynamicAnchor": "n", "anyOf": [{ "$dynamicRef": "#n" }] }),
            json!({}),
        ),
        (
            "a dynamic reference that is met twice",
            json!({ "type": "object", "$dynamicAnchor": "n", "allOf": [{ "properties": { "a": { "$dynamicRef": "#n" } } }, { "properties": { "a": { "$dynamicRef": "#n" } } }] }),
            nested(90, json!({})),
        ),
        ("properties that are met twice", both(child(), child()), nested(100, json!({}))),
        (
            "items and contains that are met twice",
            json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/l" } }, "$defs": { "l": { "items": { "$ref": "#/$defs/l" }, "contains": { "$ref": "#/$defs/l" } } } }),
            lists(100),
        ),
        (
            "patterns that are met twice",
            json!({ "type": "object", "patternProperties": { "a": { "$ref": "#" }, "^a": { "$ref": "#" } } }),
            nested(100, json!({})),
        ),
        (
            "unevaluated properties, one around the other",
            tower(
                20,
                |next| json!({ "allOf": [{ "$ref": next }], "unevaluatedProperties": true }),
                object(),
            ),
            keys.clone().into(),
        ),
        (
            "unevaluated items",
            json!({ "type": "object", "properties": { "a": tower_of_items() } }),
            json!({ "a": vec![1; 5000] }),
        ),
        (
            "a huge enum",
            json!({ "type": "object", "properties": { "a": { "items": { "enum": words } } } }),
            json!({ "a": vec!["no such word"; 20_000] }),
        ),
        (
            "patterns by keys",
            json!({ "type": "object", "patternProperties": patterns }),
            keys.into(),
        ),
        (
            "unique items",
            json!({ "type": "object", "properties": { "a": { "uniqueItems": true } } }),
            json!({ "a": unique(50_000) }),
        ),
        (
            "a pattern with many states",
            json!({ "type": "object", "properties": { "a": { "pattern": "[01]*1[01]{2000}" } } }),
            json!({ "a": "01".repeat(500_000) }),
        ),
        (
            "a nest of repetitions",
            json!({ "type": "object", "properties": { "a": { "pattern": "^((a{1,40}){1,40})$" } } }),
            json!({ "a": "a".repeat(200_000) }),
        ),
        (
            "a long list of nothing",
            json!({ "type": "object", "properties": { "a": { "minItems": 1_000_000_000 } } }),
            json!({ "a": vec![0; 100_000] }),
        ),
        (
            "properties that branch",
            tower(
                40,
                |next| json!({ "properties": { "a": { "$ref": next }, "b": { "$ref": next } } }),
                object(),
            ),
            nested(39, json!({})),
        ),
        (
            "names that are held against much",
            json!({ "type": "object", "propertyNames": { "anyOf": (0..300).map(|n| json!({ "pattern": format!("^(a|b|c)*{n}$") })).collect::<Vec<_>>() } }),
            nested(1, json!({})),
        ),
        ("many names by a tower", names_by_a_tower(), names(100_000)),
        (
            "dependencies of an older draft",
            tower(
                33,
                |next| json!({ "dependencies": { "a": { "$ref": next }, "b": { "$ref": next } } }),
                object(),
            ),
            json!({"a": 1, "b": 1}),
        ),
        (
            "a tower of meta-schemas",
            tower(12, twice("allOf"), json!({ "$ref": DIALECT })),
            json!({"type": "object"}),
        ),
        (
            "the meta-schema by a large value",
            json!({ "type": "object", "properties": { "a": { "$ref": DIALECT } } }),
            json!({ "a": { "allOf": vec![json!({ "type": "object" }); 3000] } }),
        ),
        (
            "an anchor in the place of the meta-schema",
            json!({ "type": "object", "$dynamicAnchor": "meta", "allOf": [{ "$ref": DIALECT }, { "$ref": DIALECT }] }),
            (0..60).fold(json!({}), |inner, _| json!({ "not": inner })),
        ),
        (
            "the meta-schema of another draft",
            json!({ "type": "object", "properties": { "properties": { "$ref": "http://json-schema.org/draft-07/schema#" } } }),
            json!({}),
        ),
        (
            "a part in another draft",
            json!({ "type": "object", "properties": { "a": { "$schema": "http://json-schema.org/draft-07/schema#" } } }),
            json!({}),
        ),
        (
            "a reference into a resource",
            json!({ "type": "object", "allOf": [{ "$ref": "#/$defs/inner/$defs/d0" }], "$defs": { "d0": true, "inner": inner } }),
            json!({}),
        ),
        (
            "an anchor that two parts have",
            json!({ "type": "object", "allOf": [{ "$ref": "#n" }], "$defs": { "a": { "$anchor": "n" }, "b": { "$anchor": "n" } } }),
            json!({}),
        ),
        (
            "a value that is deep",
            json!({ "type": "object", "additionalProperties": { "$ref": "#" } }),
            nested(100, json!({})),
        ),
        ("a value that is large", json!({ "type": "object" }), names(40_000)),
        (
            "a tree of alternatives",
            json!({ "type": "object", "anyOf": [{ "properties": { "a": { "$ref": "#" } }, "required": ["x"] }, { "properties": { "a": { "$ref": "#" } } }] }),
            nested(16, json!({})),
        ),
    ]
}

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// A schema whose names are each held against some thousands of parts.
fn names_by_a_tower() -> Value {
    let twice = |next: &str| json!({ "allOf": [{ "$ref": next }, { "$ref": next }] });
    let tower = tower(11, twice, json!({ "pattern": "^[a-z0-9]+$" }));
    json!({ "type": "object", "propertyNames": { "$ref": "#/$defs/d0" }, "$defs": tower["$defs"] })
}

fn names(count: usize) -> Value {
    (0..count).map(|n| (format!("n{n}"), json!(n))).collect::<Map<_, _>>().into()
}

fn tower_of_items() -> Value {
    (0..20).fold(json!({}), |inner, _| json!({ "allOf": [inner], "unevaluatedItems": true }))
}

/// Makes calls at the same time, each in a task of its own, and one of another tool beside them.
async fn call_at_once(stage: &Arc<Stage>, call: impl Fn() -> Call) -> (Vec<Envelope>, Envelope) {
    let spawn = |call: Call| {
        let stage = stage.clone();
        tokio::spawn(async move { stage.host.runtime().call(call, CallOptions::default()).await })
    };
    let hostile: Vec<_> = (0..CALLERS).map(|_| spawn(call())).collect();
    let other = spawn(Call::new(stage.agent(), "plain", json!({}))).await.unwrap();
    let mut answers = Vec::new();
    for one in hostile {
        answers.push(one.await.unwrap());
    }
    (answers, other)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_schemas_are_refused_or_bounded_without_blocking_others() {
    let cases = hostile();
    assert!(cases.len() >= 20);
    let (mut refused, mut asked) = (0, 0);
    let heartbeat = Heartbeat::start();
    for (name, schema, input) in cases {
        let setting = Setting::default()
            .tool("plain", READ)
            .tool("hostile", &format!("{READ}inputs: {schema}\n"))
            .lenient();
        let stage = tokio::task::block_in_place(|| Arc::new(setting.open()));
        let workspace = stage.host.workspace();
        let mut found = workspace.diagnostics().iter();
        let is_refused = found.any(|found| found.severity == Severity::Error);
        let began = Instant::now();
        let call = || Call::new(stage.agent(), "hostile", input.clone());
        let (answers, other) = call_at_once(&stage, call).await;
        let gap = heartbeat.longest_gap();
        println!("{name}: refused {is_refused}, {:?}, longest gap {gap:?}", began.elapsed());
        assert!(gap <= LONGEST_GAP, "{name}: no task made a step for {gap:?}");
        assert_eq!(other.error, None, "{name}");
        for answer in answers {
            let code = answer.error.as_ref().map(|error| error.error_code);
            let is_expected = match is_refused {
                true => matches!(code, Some(Code::ToolUnknown | Code::ToolBlocked)),
                false => matches!(code, None | Some(Code::InputSchema)),
            };
            assert!(is_expected, "{name}: {code:?}");
        }
        match is_refused {
            true => refused += 1,
            false => asked += 1,
        }
    }
    assert!(refused >= 14 && asked >= 12, "{refused} refused, {asked} asked");
}

/// A driver that returns a value.
fn returning(
    value: &Value,
) -> impl for<'a> Fn(Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> + Send + Sync + 'static
{
    let value = value.clone();
    move |_| {
        let value = value.clone();
        Box::pin(async move { Ok(Output::read(value)) })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_contexts_and_outputs_leave_the_workers_free() {
    let (by_names, many) = (names_by_a_tower(), names(100_000));
    let large = json!({ "text": "secret ".repeat(1 << 20), "names": names(20_000) });
    let setting = Setting::default()
        .tool("plain", READ)
        .tool("context", &format!("{READ}metadata: {{ contextSchema: {by_names} }}\n"))
        .tool("output", &format!("{READ}outputs: {by_names}\n"))
        .tool("large", &extras(READ, "{ data: { sensitive: [/secret] } }"))
        .act("output", returning(&many))
        .act("large", returning(&large));
    let stage = Arc::new(setting.open());
    let heartbeat = Heartbeat::start();
    for (tool, expected) in [
        ("context", Some(Code::InputContext)),
        ("output", Some(Code::OutputInvalid)),
        ("large", None),
    ] {
        let call = || {
            let mut call = Call::new(stage.agent(), tool, json!({ "secret": "secret" }));
            if tool == "context" {
                call.context = many.clone();
            }
            call
        };
        let (answers, other) = call_at_once(&stage, call).await;
        let gap = heartbeat.longest_gap();
        assert!(gap <= LONGEST_GAP, "{tool}: no task made a step for {gap:?}");
        assert_eq!(other.error, None, "{tool}");
        for answer in answers {
            assert_eq!(answer.error.map(|error| error.error_code), expected, "{tool}");
        }
    }
}

#[tokio::test]
async fn exponential_ref_schema_is_refused_as_too_costly() {
    let twice = |next: &str| json!({ "allOf": [{ "$ref": next }, { "$ref": next }] });
    let schema = tower(33, twice, json!({ "type": "object" }));
    assert!(schema.to_string().len() < 4000);
    let stage =
        Setting::default().tool("frozen", &format!("{READ}inputs: {schema}\n")).lenient().open();
    let workspace = stage.host.workspace();
    let found: Vec<_> = workspace.diagnostics().iter().map(|found| found.message.clone()).collect();
    assert!(found.iter().any(|words| words.contains("the schema is too costly")), "{found:#?}");
}
