//! Exit codes of the process: the one place that maps a situation to a number for the shell.

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
        ExitCode::from(self.number())
    }

    /// The exit code as a number.
    pub(crate) fn number(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Usage => 2,
            Exit::Stopped(situation) => match situation {
                Situation::Failed => 1,
                Situation::Refused => 3,
                Situation::UnknownTool | Situation::Invalid => 4,
                Situation::Unavailable => 69,
                Situation::Waiting => 75,
                Situation::TimedOut => 124,
                Situation::Canceled => 130,
            },
        }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_error_code_has_its_exit_code() {
        let mut found = BTreeMap::<u8, Vec<&str>>::new();
        for code in Code::ALL.iter().copied() {
            found.entry(Exit::of(code).number()).or_default().push(code.name());
        }
        let expected = BTreeMap::from([
            (
                1,
                vec![
                    "input.mutation",
                    "route.none",
                    "route.pin_unavailable",
                    "route.region",
                    "setup.required",
                    "credential.missing",
                    "hook.failed",
                    "hook.post_failed",
                    "rate.limited",
                    "dependency.unavailable",
                    "execution.failed",
                    "resource.not_found",
                    "conflict",
                    "effect.partial",
                    "compensation.failed",
                    "output.invalid",
                    "result.too_large",
                    "internal",
                ],
            ),
            (
                3,
                vec![
                    "tool.blocked",
                    "route.policy",
                    "hook.blocked",
                    "permission.denied",
                    "policy.blocked",
                    "approval.required",
                    "approval.rejected",
                    "approval.expired",
                    "sandbox.violation",
                    "effect.undeclared",
                    "result.redacted",
                ],
            ),
            (
                4,
                vec![
                    "tool.unknown",
                    "tool.schema_not_loaded",
                    "input.schema",
                    "input.value",
                    "input.number_not_exact",
                    "input.context",
                    "input.unsupported",
                ],
            ),
            (69, vec!["store.unavailable"]),
            (124, vec!["timeout.before_submit", "timeout.unknown_commit"]),
            (130, vec!["canceled.caller", "canceled.sibling", "canceled.discarded"]),
        ]);
        assert_eq!(found, expected);
    }

    #[test]
    fn ends_without_an_error_code_have_their_exit_codes() {
        assert_eq!([Exit::Done, Exit::Usage, Exit::WAITING].map(Exit::number), [0, 2, 75]);
    }
}
