//! What the process says when it ends.

use std::process::ExitCode;

use haft_model::{Code, Envelope, Situation};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// It was not asked for properly.
    Usage,
    /// Something stopped it, or it failed.
    Stopped(Situation),
}

impl Exit {
    /// It ran and failed, or something is wrong with the workspace.
    pub(crate) const FAILED: Exit = Exit::Stopped(Situation::Failed);
    /// Somebody says no.
    pub(crate) const REFUSED: Exit = Exit::Stopped(Situation::Refused);
    /// The input is invalid or the name unknown.
    pub(crate) const INVALID: Exit = Exit::Stopped(Situation::Invalid);
    /// A person has to answer first.
    pub(crate) const WAITING: Exit = Exit::Stopped(Situation::Waiting);

    /// The number for the shell.
    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Exit::Done => 0,
            Exit::Usage => 2,
            Exit::Stopped(situation) => situation.exit_code(),
        })
    }

    /// How a command ends that was stopped for a reason.
    pub(crate) fn of(code: Code) -> Exit {
        Exit::Stopped(code.situation())
    }

    /// How a command ends whose call came to this. One that is not on record did not end well.
    pub(crate) fn after(envelope: &Envelope) -> Exit {
        match envelope.situation() {
            Some(situation) => Exit::Stopped(situation),
            None if envelope.unrecorded.is_some() => Exit::Stopped(Situation::Unavailable),
            None => Exit::Done,
        }
    }
}
