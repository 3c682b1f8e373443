//! Why a call ends without a result, in the words that every driver here uses.

use std::path::Path;

use haft_driver::Failure;
use haft_model::{Code, EffectState, Stop};
use haft_sandbox::{Intrusion, StartRefusal};
use serde_json::{Value, json};

/// A failure before anything happened.
pub(crate) fn unsent(stop: Stop) -> Failure {
    Failure::new(stop, EffectState::NotSubmitted)
}

/// A failure of something that only looks.
pub(crate) fn unread(stop: Stop) -> Failure {
    Failure::new(stop, EffectState::None)
}

pub(crate) fn called_off() -> Stop {
    running(Code::CanceledCaller, "it was called off")
}

/// Why a program was ended that took too much, as part of a sentence.
pub(crate) const OUT_OF_MEMORY: &str = "its processes together took more memory than they may";

/// Time ran out after the request was sent, or the program or function was begun. Of something that only
/// looks, nothing can have changed.
pub(crate) fn late_after_sending(what: impl Into<String>) -> Stop {
    running(Code::TimeoutUnknownCommit, what)
}

/// Time ran out before anything was sent.
pub(crate) fn late() -> Stop {
    running(Code::TimeoutBeforeSubmit, "time ran out")
}

/// Why a running tool ends without a result.
pub(crate) fn running(code: Code, message: impl Into<String>) -> Stop {
    while_running(Stop::new(code, message))
}

/// A refusal that preflight would have given, met while running.
pub(crate) fn while_running(mut stop: Stop) -> Stop {
    match &mut stop.cause {
        Value::Object(cause) => {
            cause.insert("phase".to_owned(), json!("run"));
            stop
        }
        _ => stop.because(json!({"phase": "run"})),
    }
}

/// How much of a program's complaint is repeated.
const LONGEST_COMPLAINT: usize = 200;

/// The last thing that a program said to people, as part of a sentence.
pub(crate) fn complaint(stderr: &[u8]) -> String {
    let short = last_words(stderr);
    if short.is_empty() { short } else { format!(": {short}") }
}

/// The last line that says something, as far as it can be shown.
pub(crate) fn last_words(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let plain = last.map(|line| line.chars().filter(|letter| !letter.is_control()));
    plain.into_iter().flatten().take(LONGEST_COMPLAINT).collect()
}

/// Does work on a thread that may wait for the disk. It is never left behind: who asks, waits.
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

/// The refusal of what a program made that governs; none where it made nothing.
pub(crate) fn intruded(intrusions: &[Intrusion], root: &Path) -> Option<Stop> {
    Some(while_running(violation(haft_sandbox::violation(intrusions, root)?)))
}

/// The refusal of a program that writes what governs, in the words of the sandbox.
pub(crate) fn violation(words: String) -> Stop {
    Stop::new(Code::SandboxViolation, words).help(
        "rules are changed by people; a tool that may change the configuration of git declares \
         `git:config` in `mutates`",
    )
}
