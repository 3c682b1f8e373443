//! Set-up steps: the steps of a manifest, for the caller that walks a person through them.

use std::time::Duration;

use haft_contract::driver::manifest::{Persist, SetupEntry};

use super::Provision;

/// One set-up step.
#[derive(Clone, Debug, PartialEq)]
pub struct SetupStep {
    /// Its id in records.
    pub id: String,
    /// Its title for the person.
    pub title: String,
    /// What the step does.
    pub work: SetupWork,
    /// The command, its exit code and timeout, that show the step is not needed.
    pub skip_if: Option<(String, i32, Duration)>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum SetupWork {
    /// Runs a command, with its timeout.
    Command(String, Duration),
    /// Asks a question, and runs a command with the answer as `${value}`.
    Ask {
        /// The question.
        prompt: String,
        /// The command that takes the answer.
        cmd: String,
    },
    /// The person visits this URL.
    Visit(String),
    /// Work that only a person can do, described in words.
    ByHand(String),
}

impl Provision {
    /// The set-up steps, in order.
    pub fn steps(&self) -> Vec<SetupStep> {
        let entries = self.manifest.program().map(|fields| fields.setup.as_slice());
        entries.unwrap_or_default().iter().map(|entry| step(entry, self.id())).collect()
    }
}

fn step(entry: &SetupEntry, driver: &str) -> SetupStep {
    let patience = |ms: Option<u64>| Duration::from_millis(ms.unwrap_or(5000));
    let skip_if = entry.skip_if.as_ref();
    SetupStep {
        id: entry.id.clone(),
        title: entry.title.clone().unwrap_or_else(|| entry.id.clone()),
        skip_if: skip_if
            .map(|skip| (skip.cmd.clone(), skip.exit_code.unwrap_or(0), patience(skip.timeout_ms))),
        work: work(entry, driver),
    }
}

fn work(entry: &SetupEntry, driver: &str) -> SetupWork {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let is_secret = entry.answer.as_deref() == Some("secret");
    match (entry.kind.as_str(), &entry.persist) {
        ("cmd", _) if entry.interactive => {
            SetupWork::ByHand(format!("run `{}` yourself: it asks things", text(&entry.cmd)))
        }
        ("cmd", _) => {
            let patience = Duration::from_millis(entry.timeout_ms.unwrap_or(60_000));
            SetupWork::Command(text(&entry.cmd), patience)
        }
        ("oauth", _) => SetupWork::ByHand(format!(
            "run `haft login {driver}`, which fills the secret `{}`",
            text(&entry.secret_slug)
        )),
        (_, Persist { secret_slug: Some(slug), .. }) => {
            SetupWork::ByHand(format!("run `haft secrets set {slug}`"))
        }
        (_, Persist { env: Some(name), .. }) => {
            SetupWork::ByHand(format!("set `{name}` in the environment that Haft runs in"))
        }
        ("prompt", _) if is_secret => {
            SetupWork::ByHand("keep the answer as a secret: nothing takes it from here".into())
        }
        ("prompt", Persist { cmd: Some(cmd), .. }) => {
            SetupWork::Ask { prompt: text(&entry.prompt), cmd: cmd.clone() }
        }
        ("external", _) => SetupWork::Visit(text(&entry.url)),
        (_, _) => SetupWork::ByHand(text(&entry.prompt)),
    }
}
