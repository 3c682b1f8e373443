//! Tool error: the one error that callers see, with its name in every vocabulary.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Cause, Code, EffectState, ResultStatus, Retry, Situation, Status, Stop, Timestamp};

/// Why a call failed: one code, the effect state, and retry advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolError {
    /// Our error code.
    pub error_code: Code,
    /// Agent Tool's class.
    pub error_class: String,
    /// AIP-14's code.
    pub aip_code: String,
    /// ARuntime's code.
    pub aruntime_code: String,
    /// What happened, in one line.
    pub message: String,
    /// Retry advice in words.
    pub recoverability: String,
    /// Retry advice for programs.
    pub retry: RetryAdvice,
    /// Effect state at the time of the error.
    pub effect_state: EffectState,
    /// JSON pointer into the input, or `context`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What the caller can do, as text that the reader can type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Structured facts behind it.
    #[serde(default, skip_serializing_if = "Cause::is_empty")]
    pub cause: Cause,
    /// Until when it may still take effect, where the backend does not know the call so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The backend's own name for the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_error_ref: Option<String>,
    /// The drivers that could not serve the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<Value>,
}

/// Retry advice: whether and when to send the same call again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RetryAdvice {
    /// A retry is safe as it is.
    pub safe: bool,
    /// The arguments have to change first.
    #[serde(default)]
    pub change_arguments: bool,
    /// The schema has to be loaded first.
    #[serde(default)]
    pub discover_first: bool,
    /// An approver has to approve again.
    #[serde(default)]
    pub reapprove: bool,
    /// Another call of the batch failed.
    #[serde(default)]
    pub sibling_caused: bool,
    /// Earliest retry, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ToolError {
    /// The error of a refusal or failure, given the effect state.
    pub fn new(stop: Stop, effect: EffectState) -> ToolError {
        let code = stop.code;
        ToolError {
            error_code: code,
            error_class: class(&stop).to_owned(),
            aip_code: aip(&stop).to_owned(),
            aruntime_code: aruntime(code, effect).to_owned(),
            recoverability: recoverability(code, effect),
            retry: RetryAdvice {
                safe: retry(code, effect) == Retry::Yes,
                change_arguments: matches!(
                    code,
                    Code::InputSchema
                        | Code::InputValue
                        | Code::InputNumberNotExact
                        | Code::InputUnsupported
                ),
                discover_first: code == Code::ToolSchemaNotLoaded,
                reapprove: matches!(code, Code::ApprovalRequired | Code::ApprovalExpired),
                sibling_caused: code == Code::CanceledSibling,
                retry_after_ms: stop.cause.retry_after_ms(),
            },
            effect_state: effect,
            until: stop.cause.until(),
            native_error_ref: stop.cause.native().map(str::to_owned),
            rejected: stop
                .rejected
                .iter()
                .filter_map(|rejected| serde_json::to_value(rejected).ok())
                .collect(),
            message: stop.message,
            field: stop.field,
            help: stop.help,
            cause: stop.cause,
        }
    }

    /// The situation on a wire.
    pub fn situation(&self) -> Situation {
        self.error_code.situation()
    }

    /// The status of the result.
    pub fn result_status(&self) -> ResultStatus {
        match self.error_code {
            Code::ToolBlocked | Code::ApprovalRequired => ResultStatus::Denied,
            Code::HookBlocked
            | Code::PermissionDenied
            | Code::PolicyBlocked
            | Code::RoutePolicy
                if self.final_status() != Status::Failed =>
            {
                ResultStatus::Denied
            }
            Code::ApprovalRejected | Code::ApprovalExpired => ResultStatus::Rejected,
            Code::TimeoutBeforeSubmit | Code::TimeoutUnknownCommit => ResultStatus::TimedOut,
            Code::EffectPartial => ResultStatus::PartialSucceeded,
            Code::ResultTooLarge => ResultStatus::TooLarge,
            Code::ResultRedacted => ResultStatus::Redacted,
            Code::CanceledSibling => ResultStatus::SyntheticError,
            Code::CanceledDiscarded => ResultStatus::Discarded,
            Code::CanceledCaller => ResultStatus::Canceled,
            _ => ResultStatus::Failed,
        }
    }

    /// The status that an invocation ends in.
    pub fn final_status(&self) -> Status {
        final_status(self.error_code, self.cause.is_running())
    }
}

/// The terminal status for a code; some depend on the stage that refused.
fn final_status(code: Code, running: bool) -> Status {
    match code {
        Code::InputSchema | Code::InputNumberNotExact if !running => Status::SchemaParseFailed,
        Code::InputValue if !running => Status::ValidationFailed,
        Code::SandboxViolation | Code::EffectUndeclared if !running => Status::ValidationFailed,
        Code::ToolBlocked
        | Code::ToolSchemaNotLoaded
        | Code::InputContext
        | Code::InputUnsupported
        | Code::RouteNone
        | Code::RoutePinUnavailable
        | Code::RouteRegion
        | Code::RoutePolicy
        | Code::SetupRequired
        | Code::CredentialMissing
        | Code::HookBlocked
            if !running =>
        {
            Status::Blocked
        }
        Code::PermissionDenied | Code::PolicyBlocked if !running => Status::Denied,
        Code::ApprovalRejected | Code::ApprovalRequired | Code::ApprovalExpired => Status::Denied,
        Code::TimeoutBeforeSubmit | Code::TimeoutUnknownCommit => Status::TimedOut,
        Code::CanceledCaller | Code::CanceledSibling | Code::CanceledDiscarded => Status::Canceled,
        Code::ResultTooLarge | Code::ResultRedacted => Status::Succeeded,
        Code::ToolUnknown
        | Code::ToolBlocked
        | Code::ToolSchemaNotLoaded
        | Code::InputSchema
        | Code::InputNumberNotExact
        | Code::InputValue
        | Code::InputContext
        | Code::InputUnsupported
        | Code::InputMutation
        | Code::RouteNone
        | Code::RoutePinUnavailable
        | Code::RouteRegion
        | Code::RoutePolicy
        | Code::SetupRequired
        | Code::CredentialMissing
        | Code::HookBlocked
        | Code::HookFailed
        | Code::HookPostFailed
        | Code::PermissionDenied
        | Code::PolicyBlocked
        | Code::SandboxViolation
        | Code::EffectUndeclared
        | Code::RateLimited
        | Code::DependencyUnavailable
        | Code::StoreUnavailable
        | Code::ExecutionFailed
        | Code::ResourceNotFound
        | Code::Conflict
        | Code::EffectPartial
        | Code::CompensationFailed
        | Code::OutputInvalid
        | Code::Internal => Status::Failed,
    }
}

/// A reused idempotency key is the caller's mistake, not the backend's.
fn key_reused(stop: &Stop) -> bool {
    stop.code == Code::Conflict && stop.cause.key_reused().is_some()
}

fn class(stop: &Stop) -> &'static str {
    if key_reused(stop) { Code::InputValue.class() } else { stop.code.class() }
}

fn aip(stop: &Stop) -> &'static str {
    if key_reused(stop) { Code::InputValue.aip() } else { stop.code.aip() }
}

fn aruntime(code: Code, effect: EffectState) -> &'static str {
    match code {
        Code::EffectUndeclared if effect.may_have_happened() => Code::EffectPartial.aruntime(),
        Code::CanceledCaller if effect.may_have_happened() => "x:canceled.unknown-commit",
        _ => code.aruntime(),
    }
}

/// When a retry is legal, given the effect state: a call that cannot have changed anything, or is
/// known not to have, may be sent again.
fn retry(code: Code, effect: EffectState) -> Retry {
    let happened = effect.may_have_happened();
    match code {
        Code::OutputInvalid | Code::TimeoutUnknownCommit if effect == EffectState::None => {
            Retry::Yes
        }
        Code::OutputInvalid => Retry::No,
        Code::DependencyUnavailable | Code::CanceledCaller if !happened => Retry::Yes,
        Code::DependencyUnavailable | Code::CanceledCaller => Retry::After("its status was asked"),
        Code::StoreUnavailable if happened => Retry::After("its status was asked"),
        _ => match code.retry() {
            Retry::Yes if happened => Retry::After("its status was asked"),
            retry => retry,
        },
    }
}

fn recoverability(code: Code, effect: EffectState) -> String {
    match retry(code, effect) {
        Retry::Yes => "retry".to_owned(),
        Retry::No if effect.is_done() => "do not retry: the effect took place".to_owned(),
        Retry::No => "do not retry".to_owned(),
        Retry::After(what) => format!("after {what}"),
    }
}
