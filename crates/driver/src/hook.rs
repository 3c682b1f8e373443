//! Hook port: hooks and classifiers that observe a call and may object before and after it.

use std::time::Duration;

use haft_model::{Actor, Decision, Envelope, HookPoint, Layer, Plan, Progress, Says};
use serde_json::Value;

use crate::BoxFuture;

/// A hook or a classifier. INVARIANT: one that fails or times out before a call counts as a deny.
pub trait Hook: Send + Sync {
    /// Name in records.
    fn name(&self) -> &str;

    /// Point of the pipeline at which the hook runs.
    fn point(&self) -> HookPoint;

    /// Returns true if the hook applies to this call.
    fn concerns(&self, plan: &Plan) -> bool;

    /// Layer of its opinion: hook or classifier.
    fn layer(&self) -> Layer {
        Layer::Hook
    }

    /// The workspace trusts this hook: its allow answers more than default asks.
    fn trusted(&self) -> bool {
        false
    }

    /// A failed post-call run of this hook fails the call.
    fn required(&self) -> bool {
        false
    }

    /// Timeout of one run.
    fn patience(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// Runs the hook; an error is the reason of its failure.
    fn hear<'a>(&'a self, heard: HookInput<'a>) -> BoxFuture<'a, Result<HookAnswer, String>>;
}

/// Input of a hook: the observable copy of the call, never the input that runs.
#[derive(Clone, Copy, Debug)]
pub struct HookInput<'a> {
    /// Calling actor.
    pub actor: &'a Actor,
    /// Plan of the call.
    pub plan: &'a Plan,
    /// Observable copy of the input, without sensitive values.
    pub observable_input: &'a Value,
    /// Decision, at points after authorization.
    pub decision: Option<&'a Decision>,
    /// Result, at points after the call.
    pub result: Option<&'a Envelope>,
}

/// Answer of a hook; the default is no opinion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookAnswer {
    /// Message for people.
    pub message: Option<String>,
    /// Progress report.
    pub progress: Option<Progress>,
    /// Replacement for the input.
    pub updated_input: Option<Value>,
    /// Opinion, with its reason.
    pub opinion: Option<(Says, String)>,
    /// Context that the ledger records with the hook's run.
    pub additional_context: Vec<Value>,
    /// Reason to stop the call.
    pub stop: Option<String>,
    /// Replacement for the output, from a post-call hook.
    pub updated_output: Option<Value>,
}
