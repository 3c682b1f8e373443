//! Error mapping: the one place that gives an error code its HTTP status and its JSON-RPC error.

use axum::http::StatusCode;
use haft_model::{Code, Situation};
use rmcp::model::ErrorCode;

/// The HTTP status of an answer to a call. An answered call is a 200 whatever the answer; a call
/// that cannot be recorded is refused like any other request.
pub(crate) fn call_status(situation: Situation) -> StatusCode {
    match situation {
        Situation::Waiting => StatusCode::ACCEPTED,
        Situation::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Situation::UnknownTool
        | Situation::Invalid
        | Situation::Refused
        | Situation::Failed
        | Situation::TimedOut
        | Situation::Canceled => StatusCode::OK,
    }
}

/// The JSON-RPC error of MCP; `None` means a result, with `isError` unless it waits.
pub(crate) fn mcp_error(situation: Situation) -> Option<ErrorCode> {
    match situation {
        Situation::UnknownTool => Some(ErrorCode::INVALID_PARAMS),
        Situation::Invalid
        | Situation::Refused
        | Situation::Waiting
        | Situation::Failed
        | Situation::TimedOut
        | Situation::Canceled
        | Situation::Unavailable => None,
    }
}

/// The HTTP status of a refusal without a call.
pub(crate) fn refusal_status(code: Code) -> StatusCode {
    match code {
        Code::ToolUnknown | Code::ResourceNotFound => StatusCode::NOT_FOUND,
        Code::ToolSchemaNotLoaded
        | Code::InputSchema
        | Code::InputNumberNotExact
        | Code::InputValue
        | Code::InputContext
        | Code::InputUnsupported => StatusCode::BAD_REQUEST,
        Code::ToolBlocked
        | Code::RoutePolicy
        | Code::HookBlocked
        | Code::PermissionDenied
        | Code::PolicyBlocked
        | Code::ApprovalRequired
        | Code::ApprovalRejected
        | Code::SandboxViolation
        | Code::EffectUndeclared
        | Code::ResultRedacted => StatusCode::FORBIDDEN,
        Code::DependencyUnavailable | Code::StoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        Code::Conflict
        | Code::ApprovalExpired
        | Code::InputMutation
        | Code::RouteNone
        | Code::RoutePinUnavailable
        | Code::RouteRegion
        | Code::SetupRequired
        | Code::CredentialMissing
        | Code::HookFailed
        | Code::HookPostFailed
        | Code::RateLimited
        | Code::TimeoutBeforeSubmit
        | Code::TimeoutUnknownCommit
        | Code::ExecutionFailed
        | Code::EffectPartial
        | Code::CompensationFailed
        | Code::OutputInvalid
        | Code::ResultTooLarge
        | Code::CanceledCaller
        | Code::CanceledSibling
        | Code::CanceledDiscarded => StatusCode::CONFLICT,
    }
}

#[cfg(test)]
mod tests;
