//! Failures that the drivers share: the error and effect state of a call without a result.

use std::path::Path;

use haft_driver::Failure;
use haft_model::{CauseDetail, CausePhase, Code, EffectState, Stop};
use haft_sandbox::{Intrusion, StartRefusal};

/// A failure before anything was submitted.
pub(crate) fn unsent(stop: Stop) -> Failure {
    Failure::new(stop, EffectState::NotSubmitted)
}

/// A failure of a read, which has no effect.
pub(crate) fn unread(stop: Stop) -> Failure {
    Failure::new(stop, EffectState::None)
}

pub(crate) fn called_off() -> Stop {
    running(Code::CanceledCaller, "it was called off")
}

/// Reason for a program that exceeded its memory limit, as part of a sentence.
pub(crate) const OUT_OF_MEMORY: &str = "its processes together took more memory than they may";

/// Timeout after the request was sent, or after the program or function began. For a read, nothing
/// can have changed.
pub(crate) fn late_after_sending(what: impl Into<String>) -> Stop {
    running(Code::TimeoutUnknownCommit, what)
}

/// Timeout before anything was sent.
pub(crate) fn late() -> Stop {
    running(Code::TimeoutBeforeSubmit, "time ran out")
}

/// The error of a tool that failed while running.
pub(crate) fn running(code: Code, message: impl Into<String>) -> Stop {
    while_running(Stop::new(code, message))
}

/// Marks a preflight refusal that occurs while running.
pub(crate) fn while_running(mut stop: Stop) -> Stop {
    stop.cause.insert(CauseDetail::Phase(CausePhase::Run));
    stop
}

/// Most characters of a program's stderr that a message repeats.
const LONGEST_COMPLAINT: usize = 200;

/// The last line of stderr, as part of a sentence.
pub(crate) fn complaint(stderr: &[u8]) -> String {
    let short = last_words(stderr);
    if short.is_empty() { short } else { format!(": {short}") }
}

/// The last line that is not blank, without control characters.
pub(crate) fn last_words(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let plain = last.map(|line| line.chars().filter(|letter| !letter.is_control()));
    plain.into_iter().flatten().take(LONGEST_COMPLAINT).collect()
}

/// Runs blocking work on a thread of its own and waits for it, so that no work is left behind.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Stop> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| running(Code::Internal, "the work on a file broke off"))
}

/// Why a program could not be started.
pub(crate) fn not_started(refused: &StartRefusal) -> Stop {
    match refused {
        StartRefusal::NoLauncher | StartRefusal::Unenforced(_) | StartRefusal::Program(_) => {
            Stop::new(Code::SetupRequired, refused.to_string())
        }
        StartRefusal::Violation(_) => violation(refused.to_string()),
        StartRefusal::Broken(_) => Stop::new(Code::Internal, refused.to_string()),
    }
}

/// The refusal for files that a program made and that govern; `None` if it made none.
pub(crate) fn intruded(intrusions: &[Intrusion], root: &Path) -> Option<Stop> {
    Some(while_running(violation(haft_sandbox::violation(intrusions, root)?)))
}

/// The refusal of a program that writes files that govern, in the sandbox's words.
pub(crate) fn violation(words: String) -> Stop {
    Stop::new(Code::SandboxViolation, words).help(
        "rules are changed by people; a tool that may change the configuration of git declares \
         `git:config` in `mutates`",
    )
}
