//! Batch document: the JSON form of a batch, as files and requests carry it.

use haft_model::{
    Actor, BatchOrdering, Call, ContextPolicy, DriverId, InterruptBehavior, OnFailure, YieldPolicy,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value, json};

use crate::{Batch, BatchCall};

/// JSON form of a batch. Documents can be combined with [`BatchDocument::add`].
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchDocument {
    /// The calls, in request order.
    #[serde(default)]
    pub calls: Vec<WrittenCall>,
    /// Ordering of results; the default preserves request order.
    pub ordering: Option<BatchOrdering>,
    /// When progress and results are yielded; the default follows from the ordering.
    pub r#yield: Option<YieldPolicy>,
    /// What the caller's cancellation does to calls that run; the default cancels them.
    pub interrupt: Option<InterruptBehavior>,
    /// What a failure does to the other calls; the default depends on whether all are reads.
    pub on_failure: Option<OnFailure>,
    /// Whether context modifiers apply; the default allows them for calls that run alone.
    pub context_modifiers: Option<ContextPolicy>,
}

/// JSON form of one call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenCall {
    /// A tool's id, `id@major`, or alias.
    pub tool: String,
    /// The input; an empty object where it is left out.
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

/// An integer in any JSON notation: `7.0` is `7`. `None` for fractions and for floats from 1e18 on.
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
    /// Appends the calls of another document; the settings that it states override these.
    pub fn add(&mut self, other: BatchDocument) {
        self.calls.extend(other.calls);
        self.ordering = other.ordering.or(self.ordering);
        self.r#yield = other.r#yield.or(self.r#yield);
        self.interrupt = other.interrupt.or(self.interrupt);
        self.on_failure = other.on_failure.or(self.on_failure);
        self.context_modifiers = other.context_modifiers.or(self.context_modifiers);
    }

    /// The batch of one actor on one channel; `native` is the client's own identification of the
    /// calls. An interrupt cancels running calls unless the document says otherwise.
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
            // A number that is no index becomes a name that no call has.
            Name::Index(number) => whole(&number).map_or(number.to_string(), |it| it.to_string()),
        };
        let depends_on = self.depends_on.into_iter().map(name).collect();
        BatchCall { call, id: self.id, depends_on, priority: self.priority }
    }
}
