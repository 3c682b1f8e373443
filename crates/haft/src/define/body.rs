//! Tool bodies in Rust: their arguments and their failures.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use haft_driver::{BoxFuture, Cancel, Failure, Link, Output};
use haft_model::{Code, EffectState, Stop};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The arguments of a body.
#[derive(Debug)]
pub struct Args<In, Ctx = Value> {
    /// The input, checked against the contract.
    pub input: In,
    /// The context that the host added.
    pub context: Ctx,
    /// Cancellation: fires when the call is cancelled or its timeout expires; a body that does not
    /// end soon after is dropped where it waits.
    pub cancel: Cancel,
    /// The channel to the caller: progress, parts of the answer, and the point of no return.
    pub link: Link,
    /// The deadline, extended while people are asked.
    pub deadline: Instant,
}

/// Why a body failed. Made of a sentence, a [`Stop`] or a [`Failure`].
#[derive(Clone, Debug, PartialEq)]
pub struct ToolFailure {
    stop: Stop,
    effect: Option<EffectState>,
    native: Vec<Value>,
    partial: Option<Box<Output>>,
    report: Option<Box<Output>>,
}

impl ToolFailure {
    /// A failure of the tool itself, in words.
    pub fn new(cause: impl fmt::Display) -> ToolFailure {
        ToolFailure::from(Stop::new(Code::ExecutionFailed, cause.to_string()))
    }

    /// States what is known of the effect. Unstated, a tool that may change something counts as
    /// having perhaps changed it.
    pub fn effect(self, effect: EffectState) -> ToolFailure {
        ToolFailure { effect: Some(effect), ..self }
    }

    /// Converts into the failure of an attempt.
    pub(super) fn of_attempt(self, may_mutate: bool) -> Failure {
        let effect = match (may_mutate, self.effect) {
            (false, _) => EffectState::None,
            (true, stated) => stated.unwrap_or(EffectState::Unknown),
        };
        let ToolFailure { stop, native, partial, report, .. } = self;
        Failure { stop, effect, native, partial, report }
    }
}

impl From<Stop> for ToolFailure {
    fn from(stop: Stop) -> ToolFailure {
        ToolFailure { stop, effect: None, native: Vec::new(), partial: None, report: None }
    }
}

impl From<Failure> for ToolFailure {
    fn from(failure: Failure) -> ToolFailure {
        let Failure { stop, effect, native, partial, report } = failure;
        ToolFailure { stop, effect: Some(effect), native, partial, report }
    }
}

/// Causes that say themselves what went wrong.
macro_rules! causes {
    ($($cause:ty)*) => {
        $(impl From<$cause> for ToolFailure {
            fn from(cause: $cause) -> ToolFailure {
                ToolFailure::new(cause)
            }
        })*
    };
}

causes! { String &str std::io::Error serde_json::Error Box<dyn std::error::Error + Send + Sync> }

/// The arguments of a body before they are deserialized.
pub(super) type RawArgs = Args<Value, Value>;

/// A body that takes and gives JSON.
pub(super) struct JsonFunction {
    run: Box<dyn Fn(RawArgs) -> BoxFuture<'static, Result<Value, ToolFailure>> + Send + Sync>,
    check: fn(&Value) -> Result<(), Stop>,
    /// Whether it reports itself when its effect begins.
    pub(super) reports_submission: bool,
}

impl JsonFunction {
    /// The body that a typed function is.
    pub(super) fn new<In, Out, Ctx, F, Running>(body: F) -> JsonFunction
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + 'static,
        Ctx: DeserializeOwned + Send + 'static,
        F: Fn(Args<In, Ctx>) -> Running + Send + Sync + 'static,
        Running: Future<Output = Result<Out, ToolFailure>> + Send + 'static,
    {
        let body = Arc::new(body);
        let run = move |raw: RawArgs| -> BoxFuture<'static, Result<Value, ToolFailure>> {
            let body = body.clone();
            Box::pin(async move {
                let not_begun = |stop| ToolFailure::from(stop).effect(EffectState::NotSubmitted);
                let Args { input, context, cancel, link, deadline } = raw;
                let args = Args {
                    input: input_of(input).map_err(not_begun)?,
                    context: context_of(context).map_err(not_begun)?,
                    cancel,
                    link,
                    deadline,
                };
                let output = body(args).await?;
                serde_json::to_value(output).map_err(unwritable)
            })
        };
        let check = |input: &Value| input_of::<In>(input.clone()).map(drop);
        JsonFunction { run: Box::new(run), check, reports_submission: false }
    }

    /// Runs it; nothing happens before the first poll.
    pub(super) fn run(&self, args: RawArgs) -> BoxFuture<'static, Result<Value, ToolFailure>> {
        (self.run)(args)
    }

    /// Whether it can deserialize an input.
    pub(super) fn check(&self, input: &Value) -> Result<(), Stop> {
        (self.check)(input)
    }
}

fn input_of<In: DeserializeOwned>(input: Value) -> Result<In, Stop> {
    serde_json::from_value(input)
        .map_err(|cause| Stop::new(Code::InputValue, format!("the input cannot be read: {cause}")))
}

fn context_of<Ctx: DeserializeOwned>(context: Value) -> Result<Ctx, Stop> {
    serde_json::from_value(context).map_err(|cause| {
        Stop::new(Code::InputContext, format!("the context cannot be read: {cause}"))
    })
}

/// The body did its work, but its output cannot be serialized, so the outcome is lost.
fn unwritable(cause: serde_json::Error) -> ToolFailure {
    let stop = Stop::new(Code::OutputInvalid, format!("the output is no JSON: {cause}"));
    ToolFailure::from(stop).effect(EffectState::Committed)
}
