//! Invocation status: the states of a call, of its place in the queue and of its effect.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Every one, in order.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The word in records.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// The variant of a word.
            pub fn parse(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|one| one.name() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use words;

words! {
    /// The twenty states of an invocation.
    Status {
        /// The call came in.
        Planned "planned",
        /// Its tool was found.
        Selected "selected",
        /// Its input is valid.
        ArgumentsReady "arguments_ready",
        /// Its pre-hooks run.
        PreHooksRunning "pre_hooks_running",
        /// It waits for an approver.
        AwaitingApproval "awaiting_approval",
        /// It is authorized to run.
        Approved "approved",
        /// It waits in the queue.
        Queued "queued",
        /// Its driver runs.
        Running "running",
        /// Elicitation: its driver waits for input.
        NeedsInput "needs_input",
        /// A partial result exists.
        PartialResult "partial_result",
        /// Its post-hooks run.
        PostHooksRunning "post_hooks_running",
        /// Its result was released.
        Yielded "yielded",
        /// Terminal: its input does not match the schema.
        SchemaParseFailed "schema_parse_failed",
        /// Terminal: its input values are invalid.
        ValidationFailed "validation_failed",
        /// Terminal: denied by a decision.
        Denied "denied",
        /// Terminal: stopped before it ran for another reason.
        Blocked "blocked",
        /// Terminal: succeeded.
        Succeeded "succeeded",
        /// Terminal: failed.
        Failed "failed",
        /// Terminal: cancelled.
        Canceled "canceled",
        /// Terminal: the timeout expired.
        TimedOut "timed_out",
    }
}

impl Status {
    /// Whether the status is terminal.
    pub fn is_terminal(self) -> bool {
        self >= Status::SchemaParseFailed
    }

    /// Whether the call waits for people.
    pub fn waits_for_people(self) -> bool {
        matches!(self, Status::AwaitingApproval | Status::NeedsInput)
    }

    /// Whether one status may follow another, as §10 of the digest has it. Haft itself may fail
    /// anywhere, as when the ledger cannot be written, so every status that is not terminal may
    /// become `failed`.
    pub fn may_become(self, next: Status) -> bool {
        use Status::*;
        let allowed: &[Status] = match self {
            Planned => &[Selected, Failed, Blocked, Canceled],
            Selected => &[ArgumentsReady, SchemaParseFailed, Blocked, Failed, Canceled],
            ArgumentsReady => &[
                PreHooksRunning,
                AwaitingApproval,
                Approved,
                ValidationFailed,
                Blocked,
                Denied,
                Failed,
                Canceled,
                TimedOut,
            ],
            PreHooksRunning => {
                &[AwaitingApproval, Approved, Denied, Blocked, Failed, Canceled, TimedOut]
            }
            AwaitingApproval => &[Approved, Denied, Failed, Canceled, TimedOut],
            Approved => &[Queued, Running, AwaitingApproval, Denied, Failed, Canceled],
            Queued => &[Running, AwaitingApproval, Failed, Canceled, TimedOut],
            Running => &[
                NeedsInput,
                PartialResult,
                PostHooksRunning,
                Yielded,
                Succeeded,
                Failed,
                Canceled,
                TimedOut,
            ],
            NeedsInput => &[Running, Failed, Canceled, TimedOut],
            PartialResult => &[
                PartialResult,
                Running,
                NeedsInput,
                PostHooksRunning,
                Yielded,
                Succeeded,
                Failed,
                Canceled,
                TimedOut,
            ],
            PostHooksRunning => &[Yielded, Succeeded, Failed, Canceled, TimedOut],
            Yielded => &[Succeeded, Failed, Canceled, TimedOut],
            SchemaParseFailed | ValidationFailed | Denied | Blocked | Succeeded | Failed
            | Canceled | TimedOut => &[],
        };
        allowed.contains(&next)
    }

    /// The queue state that goes with a status.
    pub fn queue(self) -> Option<QueueState> {
        match self {
            Status::Queued => Some(QueueState::Queued),
            Status::Running
            | Status::NeedsInput
            | Status::PartialResult
            | Status::PostHooksRunning => Some(QueueState::Executing),
            Status::Yielded => Some(QueueState::Yielded),
            Status::Planned
            | Status::Selected
            | Status::ArgumentsReady
            | Status::PreHooksRunning
            | Status::AwaitingApproval
            | Status::Approved
            | Status::SchemaParseFailed
            | Status::ValidationFailed
            | Status::Denied
            | Status::Blocked
            | Status::Succeeded
            | Status::Failed
            | Status::Canceled
            | Status::TimedOut => None,
        }
    }
}

words! {
    /// The five queue states, an axis of its own.
    QueueState {
        /// It waits in the queue.
        Queued "queued",
        /// It runs.
        Executing "executing",
        /// A result exists and was not released.
        Completed "completed",
        /// Its result was released.
        Yielded "yielded",
        /// Its caller discarded it.
        Discarded "discarded",
    }
}

words! {
    /// Effect state: what is known of a call's side effect; it decides whether a retry is legal.
    EffectState {
        /// The call has no effect.
        None "none",
        /// Nothing was sent.
        NotSubmitted "not_submitted",
        /// It was sent.
        Submitted "submitted",
        /// It was sent, and its outcome is unknown.
        Unknown "unknown",
        /// It was sent, and did not happen.
        NotCommitted "not_committed",
        /// Part of it happened.
        PartiallyCommitted "partially_committed",
        /// It happened.
        Committed "committed",
        /// It happened and was undone.
        Compensated "compensated",
        /// It happened, and undoing it failed.
        CompensationFailed "compensation_failed",
    }
}

impl EffectState {
    /// Whether one state may follow another; the effect only moves forward.
    pub fn may_become(self, next: EffectState) -> bool {
        use EffectState::*;
        let allowed: &[EffectState] = match self {
            NotSubmitted => &[Submitted],
            Submitted => &[Committed, PartiallyCommitted, NotCommitted, Unknown],
            Unknown => &[Committed, NotCommitted, PartiallyCommitted],
            Committed | PartiallyCommitted => &[Compensated, CompensationFailed],
            CompensationFailed => &[Compensated],
            None | NotCommitted | Compensated => &[],
        };
        self == next || allowed.contains(&next)
    }

    /// Merges new knowledge of the effect. A recorded effect stays recorded, whatever a process
    /// that did not see it reports later.
    pub fn learn(self, next: EffectState) -> EffectState {
        use EffectState::*;
        match next {
            None | NotSubmitted | Submitted | Unknown | NotCommitted if self == Committed => self,
            said => said,
        }
    }

    /// Whether an external change is known.
    pub fn is_done(self) -> bool {
        matches!(self, EffectState::Committed | EffectState::PartiallyCommitted)
    }

    /// Whether an external change is possible.
    pub fn may_have_happened(self) -> bool {
        match self {
            EffectState::None | EffectState::NotSubmitted | EffectState::NotCommitted => false,
            EffectState::Submitted
            | EffectState::Unknown
            | EffectState::PartiallyCommitted
            | EffectState::Committed
            | EffectState::Compensated
            | EffectState::CompensationFailed => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_twenty_states_and_eight_of_them_end() {
        let ends = Status::ALL.iter().filter(|status| status.is_terminal());
        assert_eq!((Status::ALL.len(), ends.count()), (20, 8));
    }

    #[test]
    fn nothing_follows_an_end() {
        for end in Status::ALL.iter().filter(|status| status.is_terminal()) {
            assert!(Status::ALL.iter().all(|next| !end.may_become(*next)), "{end}");
        }
    }

    #[test]
    fn every_live_status_may_become_canceled_or_failed() {
        for live in Status::ALL.iter().filter(|status| !status.is_terminal()) {
            assert!(live.may_become(Status::Canceled), "{live}");
            assert!(live.may_become(Status::Failed), "{live}");
        }
    }

    #[test]
    fn an_effect_never_goes_back() {
        for state in EffectState::ALL {
            for next in EffectState::ALL.iter().filter(|next| *next != state) {
                assert!(!(state.may_become(*next) && next.may_become(*state)), "{state} {next}");
            }
        }
    }
}
