//! A batch as it is written down: its calls, and how they are made.

use haft_model::{
    Actor, BatchOrdering, Call, ContextPolicy, DriverId, InterruptBehavior, OnFailure, YieldPolicy,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value, json};

use crate::{Batch, BatchCall};

/// A batch as it is written down, in part or whole.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchDocument {
    /// The calls.
    #[serde(default)]
    pub calls: Vec<WrittenCall>,
    /// How results are ordered.
    pub ordering: Option<BatchOrdering>,
    /// What is handed over at once.
    pub r#yield: Option<YieldPolicy>,
    /// What the caller's wish to stop does to calls that run.
    pub interrupt: Option<InterruptBehavior>,
    /// What a failure does to the others.
    pub on_failure: Option<OnFailure>,
    /// What becomes of context modifiers.
    pub context_modifiers: Option<ContextPolicy>,
}

/// One call as it is written down.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenCall {
    /// A tool's id, `id@major`, or alias.
    pub tool: String,
    /// The input.
    #[serde(default = "nothing")]
    pub input: Value,
    id: Option<String>,
    #[serde(default)]
    depends_on: Vec<Name>,
    #[serde(default, deserialize_with = "priority")]
    priority: i32,
    key: Option<String>,
    context: Option<Value>,
    pin: Option<String>,
    #[serde(default)]
    region: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Name {
    Id(String),
    Index(Number),
}

/// A number that is whole however it is written: `7.0` is `7` in JSON.
fn whole(number: &Number) -> Option<i128> {
    let integer = number.as_i128();
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e18);
    integer.or_else(|| float.map(|float| float as i128))
}

fn priority<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    let number = Number::deserialize(deserializer)?;
    let whole = whole(&number).and_then(|whole| i32::try_from(whole).ok());
    whole.ok_or_else(|| D::Error::custom(format!("`{number}` is no whole number of 32 bits")))
}

fn nothing() -> Value {
    json!({})
}

impl BatchDocument {
    /// Adds what another document says; what that says of the manner counts.
    pub fn add(&mut self, other: BatchDocument) {
        self.calls.extend(other.calls);
        self.ordering = other.ordering.or(self.ordering);
        self.r#yield = other.r#yield.or(self.r#yield);
        self.interrupt = other.interrupt.or(self.interrupt);
        self.on_failure = other.on_failure.or(self.on_failure);
        self.context_modifiers = other.context_modifiers.or(self.context_modifiers);
    }

    /// The batch as somebody's, by a channel that knows its calls by something. Whoever wants no more
    /// means what runs, too, unless the document says something else.
    pub fn batch(self, actor: &Actor, channel: &'static str, native: &[Value]) -> Batch {
        let calls = self.calls.into_iter().map(|written| {
            let mut member = written.call(actor.clone());
            member.call.channel = channel;
            member.call.native = native.to_vec();
            member
        });
        let usual = Batch::new(calls);
        Batch {
            ordering: self.ordering.unwrap_or(usual.ordering),
            yields: self.r#yield,
            interrupt: self.interrupt.unwrap_or(InterruptBehavior::Cancel),
            on_failure: self.on_failure,
            context: self.context_modifiers.unwrap_or(usual.context),
            ..usual
        }
    }
}

impl WrittenCall {
    fn call(self, actor: Actor) -> BatchCall {
        let mut call = Call::new(actor, self.tool, self.input);
        if let Some(context) = self.context {
            call.context = context;
        }
        call.key = self.key;
        call.pinned = self.pin.as_deref().map(DriverId::from);
        call.region = self.region;
        let name = |name| match name {
            Name::Id(id) => id,
            // A number that is no place is a name that no call has.
            Name::Index(number) => whole(&number).map_or(number.to_string(), |it| it.to_string()),
        };
        let depends_on = self.depends_on.into_iter().map(name).collect();
        BatchCall { call, id: self.id, depends_on, priority: self.priority }
    }
}
