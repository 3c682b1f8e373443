//! Modes of calls, as the words of `metadata.haft` and `[workspace]`: how they repeat, run in the
//! background, wait for approvers and forms, recover, and keep their results.

use serde::{Deserialize, Serialize};

use crate::status::words;

words! {
    /// Idempotency mode: whether calls of a tool carry an idempotency key.
    IdempotencyMode {
        /// A repeated call is another call.
        None "none",
        /// A repeated call does no harm, so it needs no key.
        Natural "natural",
        /// The caller may give a key.
        Optional "optional",
        /// The caller has to give a key.
        Required "required",
    }
}

words! {
    /// Whether callers go on while a call runs and fetch its result later.
    BackgroundMode {
        /// Callers that can come back for the result may do so.
        Allowed "allowed",
        /// Callers that cannot come back are refused.
        Required "required",
    }
}

words! {
    /// What an approval request becomes where no approver is reachable.
    NonInteractive {
        /// It waits in the approval inbox.
        Ask "ask",
        /// The call is denied.
        Deny "deny",
    }
}

words! {
    /// Elicitation: who fills in forms of backends.
    Forms {
        /// The caller, where it can show a form; no one otherwise.
        Off "off",
        /// People, in the inbox, where the caller cannot show a form.
        Inbox "inbox",
        /// People, in the inbox, for every call that no person made.
        People "people",
    }
}

words! {
    /// Recovery: what becomes of a call whose process died before it sent anything.
    Unsent {
        /// The call ends refused; its caller may retry.
        Refuse "refuse",
        /// It runs, if the rules still allow it.
        Run "run",
    }
}

words! {
    /// Persistence of a result that is longer than a caller is shown.
    PersistMode {
        /// It is shown whole.
        Inline "inline",
        /// Its beginning is shown, and the whole is stored.
        PreviewAndPersist "preview_and_persist",
        /// Only a reference is shown, and the whole is stored.
        RefOnly "ref_only",
        /// It is redacted.
        Redact "redact",
        /// Its beginning is shown, and the rest is dropped.
        DropWithReason "drop_with_reason",
        /// Its beginning is shown, and nothing is stored.
        NeverPersist "never_persist",
    }
}
