//! Exit codes of the process.

use std::process::ExitCode;

use haft_model::{Code, Envelope, Situation};

/// How a command ended, which sets the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded.
    Done,
    /// The command line was wrong.
    Usage,
    /// A refusal stopped it, or it failed.
    Stopped(Situation),
}

impl Exit {
    /// It ran and failed, or something is wrong with the workspace.
    pub(crate) const FAILED: Exit = Exit::Stopped(Situation::Failed);
    /// A rule or an approver denied it.
    pub(crate) const REFUSED: Exit = Exit::Stopped(Situation::Refused);
    /// The input is invalid or the name unknown.
    pub(crate) const INVALID: Exit = Exit::Stopped(Situation::Invalid);
    /// An approval is pending.
    pub(crate) const WAITING: Exit = Exit::Stopped(Situation::Waiting);

    /// The exit code for the shell.
    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Exit::Done => 0,
            Exit::Usage => 2,
            Exit::Stopped(situation) => situation.exit_code(),
        })
    }

    /// The exit of a command that stopped with a code.
    pub(crate) fn of(code: Code) -> Exit {
        Exit::Stopped(code.situation())
    }

    /// The exit of a command by the result of its call. A call without a record counts as failed.
    pub(crate) fn after(envelope: &Envelope) -> Exit {
        match envelope.situation() {
            Some(situation) => Exit::Stopped(situation),
            None if envelope.unrecorded.is_some() => Exit::Stopped(Situation::Unavailable),
            None => Exit::Done,
        }
    }
}
