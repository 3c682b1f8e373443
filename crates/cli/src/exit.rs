//! What the process says when it ends.

use std::process::ExitCode;

use haft_model::Code;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// It ran and failed, or something is wrong with the workspace.
    Failed,
    /// It was not asked for properly.
    Usage,
    /// Somebody or some rule says no.
    Refused,
    /// The input is invalid or the tool unknown.
    Invalid,
    /// A person has to answer first.
    Waiting,
    /// Time ran out.
    TimedOut,
    /// It was called off.
    Canceled,
}

impl Exit {
    /// The number for the shell.
    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Refused => 3,
            Exit::Invalid => 4,
            Exit::Waiting => 75,
            Exit::TimedOut => 124,
            Exit::Canceled => 130,
        })
    }

    /// How a command ends that was stopped for a reason.
    pub(crate) fn of(code: Code) -> Exit {
        match code {
            Code::ToolUnknown
            | Code::ToolSchemaNotLoaded
            | Code::InputSchema
            | Code::InputValue
            | Code::InputContext
            | Code::InputUnsupported => Exit::Invalid,
            Code::ToolBlocked
            | Code::RoutePolicy
            | Code::HookBlocked
            | Code::PermissionDenied
            | Code::PolicyBlocked
            | Code::ApprovalRejected
            | Code::ApprovalExpired
            | Code::SandboxViolation
            | Code::EffectUndeclared
            | Code::ResultRedacted => Exit::Refused,
            Code::ApprovalRequired => Exit::Waiting,
            Code::TimeoutBeforeSubmit | Code::TimeoutUnknownCommit => Exit::TimedOut,
            Code::CanceledCaller | Code::CanceledSibling | Code::CanceledDiscarded => {
                Exit::Canceled
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
            | Code::Internal => Exit::Failed,
        }
    }
}
