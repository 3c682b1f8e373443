//! Wire situation: maps an error to an exit code, an HTTP status or a JSON-RPC error.

use crate::Code;

/// The kinds of outcome that wires tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Situation {
    /// No such tool.
    UnknownTool,
    /// The input is at fault.
    Invalid,
    /// A person or a rule refused it.
    Refused,
    /// A person has to approve first.
    Waiting,
    /// It ran, or could not, and failed.
    Failed,
    /// The timeout expired.
    TimedOut,
    /// Cancelled.
    Canceled,
    /// The ledger cannot record anything at the moment.
    Unavailable,
}

impl Situation {
    /// Exit code of a process that ends this way.
    pub fn exit_code(self) -> u8 {
        match self {
            Situation::Failed => 1,
            Situation::Unavailable => 69,
            Situation::Refused => 3,
            Situation::UnknownTool | Situation::Invalid => 4,
            Situation::Waiting => 75,
            Situation::TimedOut => 124,
            Situation::Canceled => 130,
        }
    }

    /// The HTTP status of an answer to a call. An answered call is a 200 whatever the answer; a
    /// call that cannot be recorded is refused like any other request.
    pub fn http_status(self) -> u16 {
        match self {
            Situation::Waiting => 202,
            Situation::Unavailable => 503,
            Situation::UnknownTool
            | Situation::Invalid
            | Situation::Refused
            | Situation::Failed
            | Situation::TimedOut
            | Situation::Canceled => 200,
        }
    }

    /// The JSON-RPC error of MCP; `None` means a result, with `isError` unless it waits.
    pub fn mcp_error(self) -> Option<i32> {
        match self {
            Situation::UnknownTool => Some(-32602),
            Situation::Invalid
            | Situation::Refused
            | Situation::Waiting
            | Situation::Failed
            | Situation::TimedOut
            | Situation::Canceled
            | Situation::Unavailable => None,
        }
    }
}

impl Code {
    /// The situation of the code on a wire.
    pub fn situation(self) -> Situation {
        match self {
            Code::ToolUnknown => Situation::UnknownTool,
            Code::ToolSchemaNotLoaded
            | Code::InputSchema
            | Code::InputNumberNotExact
            | Code::InputValue
            | Code::InputContext
            | Code::InputUnsupported => Situation::Invalid,
            Code::ToolBlocked
            | Code::RoutePolicy
            | Code::HookBlocked
            | Code::PermissionDenied
            | Code::PolicyBlocked
            // No approver could be asked, so it does not wait: a waiting call is reported by its
            // envelope.
            | Code::ApprovalRequired
            | Code::ApprovalRejected
            | Code::ApprovalExpired
            | Code::SandboxViolation
            | Code::EffectUndeclared
            | Code::ResultRedacted => Situation::Refused,
            Code::TimeoutBeforeSubmit | Code::TimeoutUnknownCommit => Situation::TimedOut,
            Code::StoreUnavailable => Situation::Unavailable,
            Code::CanceledCaller | Code::CanceledSibling | Code::CanceledDiscarded => {
                Situation::Canceled
            }
            Code::InputMutation
            | Code::RouteNone
            | Code::RoutePinUnavailable
            | Code::RouteRegion
            | Code::SetupRequired
            | Code::CredentialMissing
            | Code::HookFailed
            | Code::HookPostFailed
            | Code::RateLimited
            | Code::DependencyUnavailable
            | Code::ExecutionFailed
            | Code::ResourceNotFound
            | Code::Conflict
            | Code::EffectPartial
            | Code::CompensationFailed
            | Code::OutputInvalid
            | Code::ResultTooLarge
            | Code::Internal => Situation::Failed,
        }
    }
}
