//! Driver results: output or failure, each with the state of its effect.

use haft_model::{Content, EffectState, Link, Stop};
use serde_json::{Map, Value};

/// Output of a successful call.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Value for the contract's output schema.
    pub structured: Option<Value>,
    /// Where the value comes from.
    pub source: ValueSource,
    /// Content pieces beside the value, or instead of it.
    pub content: Vec<Content>,
    /// Artifacts that the call created.
    pub artifacts: Vec<Link>,
    /// The backend's ids of the call, each with a `source`.
    pub native: Vec<Value>,
    /// Requested changes of the caller's context, such as the working folder. The batch scheduler
    /// decides whether they apply.
    pub context_modifiers: Vec<Value>,
    /// State of the effect.
    pub effect: EffectState,
    /// Numbers with more digits than a double holds.
    pub exact: Vec<ExactNumber>,
    /// The backend's metadata of the result.
    pub meta: Map<String, Value>,
}

/// Where the value of an output comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSource {
    /// The backend stated it, or the driver's manifest maps it.
    Stated,
    /// The driver read it in the content, for a contract that demands a value. Under any other
    /// contract the content alone is the output.
    Content,
}

/// A number as the backend wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactNumber {
    /// JSON pointer into the value, which holds the nearest double there, or a text where there is
    /// none.
    pub pointer: String,
    /// The digits, unchanged.
    pub digits: String,
}

impl Output {
    /// Output of a read.
    pub fn read(value: Value) -> Output {
        Output::value(value, EffectState::None)
    }

    /// Output of an effect that happened.
    pub fn committed(value: Value) -> Output {
        Output::value(value, EffectState::Committed)
    }

    fn value(value: Value, effect: EffectState) -> Output {
        Output {
            structured: Some(value),
            source: ValueSource::Stated,
            content: Vec::new(),
            artifacts: Vec::new(),
            native: Vec::new(),
            context_modifiers: Vec::new(),
            effect,
            exact: Vec::new(),
            meta: Map::new(),
        }
    }
}

/// Failure of a call, possibly with partial output.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Error code and message.
    pub stop: Stop,
    /// State of the effect.
    pub effect: EffectState,
    /// The backend's ids of the call, each with a `source`.
    pub native: Vec<Value>,
    /// Output from before the failure.
    pub partial: Option<Box<Output>>,
    /// The backend's own account of the failure, which models read instead of our message.
    pub report: Option<Box<Output>>,
}

impl Failure {
    /// A failure with the state of its effect.
    pub fn new(stop: Stop, effect: EffectState) -> Failure {
        Failure { stop, effect, native: Vec::new(), partial: None, report: None }
    }
}
