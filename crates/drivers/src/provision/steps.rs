//! Set-up steps: the steps of a manifest, for the caller that walks a person through them.

use std::time::Duration;

use haft_model::Stop;
use serde::Deserialize;
use serde_json::Value;

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

#[derive(Deserialize)]
struct SetupStepText {
    id: String,
    kind: String,
    title: Option<String>,
    cmd: Option<String>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    interactive: bool,
    prompt: Option<String>,
    #[serde(rename = "type")]
    answer: Option<String>,
    secret_slug: Option<String>,
    url: Option<String>,
    skip_if: Option<Skip>,
    #[serde(default)]
    persist: Persist,
}

#[derive(Deserialize)]
struct Skip {
    cmd: String,
    exit_code: Option<i32>,
    timeout_ms: Option<u64>,
}

#[derive(Default, Deserialize)]
struct Persist {
    env: Option<String>,
    secret_slug: Option<String>,
    cmd: Option<String>,
}

impl Provision {
    /// The set-up steps, in order.
    pub fn steps(&self) -> Result<Vec<SetupStep>, Stop> {
        let written = self.manifest.get("setup").cloned().unwrap_or(Value::Array(Vec::new()));
        let written: Vec<SetupStepText> =
            serde_json::from_value(written).map_err(|fault| self.unreadable(&fault))?;
        Ok(written.into_iter().map(|step| step.read(self.id())).collect())
    }
}

impl SetupStepText {
    fn read(self, driver: &str) -> SetupStep {
        let work = self.work(driver);
        let patience = |ms: Option<u64>| Duration::from_millis(ms.unwrap_or(5000));
        SetupStep {
            title: self.title.unwrap_or_else(|| self.id.clone()),
            skip_if: self
                .skip_if
                .map(|skip| (skip.cmd, skip.exit_code.unwrap_or(0), patience(skip.timeout_ms))),
            id: self.id,
            work,
        }
    }

    fn work(&self, driver: &str) -> SetupWork {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let is_secret = self.answer.as_deref() == Some("secret");
        match (self.kind.as_str(), &self.persist) {
            ("cmd", _) if self.interactive => {
                SetupWork::ByHand(format!("run `{}` yourself: it asks things", text(&self.cmd)))
            }
            ("cmd", _) => {
                let patience = Duration::from_millis(self.timeout_ms.unwrap_or(60_000));
                SetupWork::Command(text(&self.cmd), patience)
            }
            ("oauth", _) => SetupWork::ByHand(format!(
                "run `haft login {driver}`, which fills the secret `{}`",
                text(&self.secret_slug)
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
                SetupWork::Ask { prompt: text(&self.prompt), cmd: cmd.clone() }
            }
            ("external", _) => SetupWork::Visit(text(&self.url)),
            (_, _) => SetupWork::ByHand(text(&self.prompt)),
        }
    }
}
