//! CLI manifest: parses the program and the command of each contract, once.

use std::collections::{BTreeMap, HashMap};

use haft_model::{Code, Plan, Stop, ToolKey};
use serde::Deserialize;
use serde_json::Value;

use super::command::{Command, CommandEntry, Stream};
use crate::DeclaredEntries;
use crate::declared::unsupported;

/// Fields that would change the meaning of a call, and that this version does not support.
const UNSUPPORTED: [&str; 4] = ["code", "run", "inputsFiles", "outputsFiles"];

/// The manifest fields that all entries share.
#[derive(Clone, Deserialize)]
pub(super) struct CliManifestText {
    pub(super) id: String,
    pub(super) bin: String,
    #[serde(default)]
    pub(super) bin_args: Vec<String>,
    #[serde(default)]
    pub(super) output: OutputFormat,
    #[serde(default)]
    pub(super) auth: CliAuth,
    #[serde(default)]
    sandbox: Sandbox,
    #[serde(default)]
    network: CliNetwork,
    runner: Option<Value>,
}

/// How the output of the program is parsed.
#[derive(Clone, Default, Deserialize)]
pub(super) struct OutputFormat {
    pub(super) default_format: Option<String>,
    pub(super) json_flag: Option<String>,
    #[serde(default)]
    pub(super) json_flag_args: Vec<String>,
    #[serde(default)]
    pub(super) exit_codes: BTreeMap<String, String>,
    pub(super) stream: Option<Stream>,
    pub(super) error_stream: Option<Stream>,
}

/// The `auth` fields that say where a login is stored.
#[derive(Clone, Default, Deserialize)]
pub(super) struct CliAuth {
    #[serde(default)]
    pub(super) state: CliState,
    pub(super) expiry: Option<Expiry>,
}

#[derive(Clone, Default, Deserialize)]
pub(super) struct CliState {
    #[serde(default)]
    pub(super) env: Vec<String>,
    #[serde(default)]
    pub(super) paths: Vec<String>,
}

#[derive(Clone, Deserialize)]
pub(super) struct Expiry {
    pub(super) detect: String,
}

#[derive(Clone, Default, Deserialize)]
struct Sandbox {
    #[serde(default)]
    tty: Tty,
    #[serde(default)]
    network: CliNetwork,
}

#[derive(Clone, Default, Deserialize)]
struct Tty {
    #[serde(default)]
    required: bool,
}

#[derive(Clone, Default, Deserialize)]
struct CliNetwork {
    #[serde(default)]
    ingress: Vec<String>,
}

/// The parsed manifest.
pub(super) struct CliManifest {
    /// The whole document, from which the sandbox profile is derived.
    pub(super) raw: Value,
    /// Why no call can run, if none can.
    whole: Result<(), Stop>,
    commands: HashMap<ToolKey, Result<Command, Stop>>,
}

impl CliManifest {
    /// Parses a manifest. A mistake in it is the answer to every call that it affects.
    pub(super) fn read(declared: DeclaredEntries) -> CliManifest {
        let (whole, commands) = match declared.part::<CliManifestText>("") {
            Err(stop) => (Err(stop), HashMap::new()),
            Ok(written) => (written.runs(&declared.manifest), commands(&declared, &written)),
        };
        CliManifest { raw: declared.manifest, whole, commands }
    }

    /// The command for a call.
    pub(super) fn command(&self, plan: &Plan) -> Result<&Command, Stop> {
        self.whole.clone()?;
        let found = self.commands.get(&plan.tool).ok_or_else(|| {
            let driver = &plan.route.driver;
            let message = format!("driver `{driver}` has no command for `{}`", plan.tool);
            Stop::new(Code::RouteNone, message)
        })?;
        found.as_ref().map_err(Stop::clone)
    }
}

fn commands(
    declared: &DeclaredEntries,
    written: &CliManifestText,
) -> HashMap<ToolKey, Result<Command, Stop>> {
    let read = |index: &usize| {
        let part = |kind: &str| format!("/implements/{index}/metadata/{kind}");
        let entry =
            CommandEntry { cli: declared.part(&part("cli"))?, haft: declared.part(&part("haft"))? };
        entry.command(written)
    };
    declared.serves.iter().map(|(tool, index)| (tool.clone(), read(index))).collect()
}

impl CliManifestText {
    /// Checks whether calls of this manifest can run at all.
    fn runs(&self, manifest: &Value) -> Result<(), Stop> {
        let refused = |what: &str| Err(unsupported(&self.id, what));
        if let Some(field) = UNSUPPORTED.iter().find(|field| manifest.get(**field).is_some()) {
            return refused(&format!("`{field}`"));
        }
        match &self.runner {
            Some(Value::String(_)) => return refused("a `runner` in another file"),
            Some(runner) => {
                let engine = runner.get("engine").and_then(Value::as_str).unwrap_or("subprocess");
                if engine != "subprocess" || runner.get("image").is_some() {
                    return refused("a `runner` that is no process of this machine");
                }
            }
            None => {}
        }
        if self.sandbox.tty.required {
            let words = format!("driver `{}` needs a terminal, and a call has none", self.id);
            return Err(Stop::new(Code::SetupRequired, words)
                .help("look for an option of the program that makes it ask nothing"));
        }
        if !self.network.ingress.is_empty() || !self.sandbox.network.ingress.is_empty() {
            return refused("`network.ingress`");
        }
        Ok(())
    }
}
