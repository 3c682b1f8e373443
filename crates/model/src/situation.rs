//! Situation: groups error codes by what a caller can do; each edge maps it to its own wire.

use crate::Code;

/// The kinds of outcome that callers tell apart. An edge matches every one, so a new kind does not
/// compile until each edge has a number for it.
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

impl Code {
    /// The situation that the code means.
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
