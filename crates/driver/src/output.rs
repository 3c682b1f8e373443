//! What a driver gives back, each with what is known of the effect.

use haft_model::{Content, EffectState, Link, Stop};
use serde_json::Value;

/// What came out of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The value that the contract's outputs promise.
    pub structured: Option<Value>,
    /// Pieces beside it, or instead of it.
    pub content: Vec<Content>,
    /// Deliverables that were made.
    pub artifacts: Vec<Link>,
    /// What the backend knows the call by: each has a `source`.
    pub native: Vec<Value>,
    /// What it wants changed in the context of whoever called, such as a folder to work in. Whether
    /// that counts is for the scheduler to say.
    pub context_modifiers: Vec<Value>,
    /// What is known of the effect.
    pub effect: EffectState,
    /// The numbers of the value that have more digits than it keeps.
    pub exact: Vec<ExactNumber>,
}

/// A number as its backend wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactNumber {
    /// JSON pointer to it in the value, where its nearest double stands; a text where there is none.
    pub pointer: String,
    /// The number, letter by letter.
    pub digits: String,
}

impl Output {
    /// A value that was only looked up.
    pub fn read(value: Value) -> Output {
        Output::value(value, EffectState::None)
    }

    /// The value of an effect that took place.
    pub fn committed(value: Value) -> Output {
        Output::value(value, EffectState::Committed)
    }

    fn value(value: Value, effect: EffectState) -> Output {
        Output {
            structured: Some(value),
            content: Vec::new(),
            artifacts: Vec::new(),
            native: Vec::new(),
            context_modifiers: Vec::new(),
            effect,
            exact: Vec::new(),
        }
    }
}

/// Why nothing, or not all, came out of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The reason, with its code.
    pub stop: Stop,
    /// What is known of the effect.
    pub effect: EffectState,
    /// What the backend knows the call by.
    pub native: Vec<Value>,
    /// What came out before it failed.
    pub partial: Option<Box<Output>>,
}

impl Failure {
    /// A failure with what is known of the effect.
    pub fn new(stop: Stop, effect: EffectState) -> Failure {
        Failure { stop, effect, native: Vec::new(), partial: None }
    }
}
