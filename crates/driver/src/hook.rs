//! Hooks: others who are heard before and after a call.

use std::time::Duration;

use haft_model::{Actor, Decision, Envelope, HookPoint, Layer, Plan, Progress, Says};
use serde_json::Value;

use crate::BoxFuture;

/// Somebody who is heard about calls. What cannot be heard counts as a no.
pub trait Hook: Send + Sync {
    /// What it is called in records.
    fn name(&self) -> &str;

    /// Where it is heard.
    fn point(&self) -> HookPoint;

    /// Whether it is about this call.
    fn concerns(&self, plan: &Plan) -> bool;

    /// Whether it speaks as a hook or as a classifier.
    fn layer(&self) -> Layer {
        Layer::Hook
    }

    /// Whether the workspace names it as one whose allow counts in full.
    fn trusted(&self) -> bool {
        false
    }

    /// Whether a call whose result it could not be heard about counts as failed.
    fn required(&self) -> bool {
        false
    }

    /// How long it may take.
    fn patience(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// Hears it. An error is a source that failed, with the reason.
    fn hear<'a>(&'a self, heard: HookInput<'a>) -> BoxFuture<'a, Result<HookAnswer, String>>;
}

/// What a hook is shown: the observable copy, never what will run.
#[derive(Clone, Copy, Debug)]
pub struct HookInput<'a> {
    /// Who called.
    pub actor: &'a Actor,
    /// What was understood.
    pub plan: &'a Plan,
    /// The input that others may see.
    pub observable_input: &'a Value,
    /// What was decided, where it was.
    pub decision: Option<&'a Decision>,
    /// What came out, where something did.
    pub result: Option<&'a Envelope>,
}

/// What a hook says. Saying nothing is no opinion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookAnswer {
    /// For people.
    pub message: Option<String>,
    /// How far the call is.
    pub progress: Option<Progress>,
    /// An input to use instead.
    pub updated_input: Option<Value>,
    /// An opinion, and why.
    pub opinion: Option<(Says, String)>,
    /// What others should know.
    pub additional_context: Vec<Value>,
    /// Why the call has to stop here.
    pub stop: Option<String>,
    /// A result to show instead, from a hook after the call.
    pub updated_output: Option<Value>,
}
