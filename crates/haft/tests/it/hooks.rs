//! Hook tests: real programs in the sandbox, and real addresses on this machine.

mod addresses;
mod answers;
mod failures;
mod matching;
mod points;
mod server;

use haft_model::{Envelope, Event, HookRun};

use crate::stage::{Setting, Stage, WRITE};
use crate::story;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

/// A workspace with one tool that writes, a rule that allows it, and one hook that is a script.
fn hooked(event: &str, script: &str) -> Setting {
    scripted(Setting::default().tool("note.it", WRITE).settings(ALLOW), event, "one", script)
}

/// Adds a script as a hook.
fn scripted(setting: Setting, event: &str, name: &str, script: &str) -> Setting {
    let hook = format!(
        "[[hook]]\nevent = \"{event}\"\nrun = [\"sh\", \"hooks/{name}\"]\ntimeout_ms = 20000\n"
    );
    setting.settings(&hook).file(&format!("hooks/{name}"), script)
}

/// A script that says one thing.
fn saying(json: &str) -> String {
    format!("cat > /dev/null\ncat <<'END'\n{json}\nEND\n")
}

/// What is on record of every hook that was heard about a call, in order.
async fn runs(stage: &Stage, envelope: &Envelope) -> Vec<HookRun> {
    let facts = story::checked(stage, envelope).await;
    let runs = facts.iter().filter_map(|fact| match &fact.event {
        Event::PreHookCompleted(run) | Event::PostHookCompleted(run) => Some(run.as_ref().clone()),
        _ => None,
    });
    runs.collect()
}
