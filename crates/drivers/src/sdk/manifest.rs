//! SDK manifest: parses the package, and the function of each contract.

use std::collections::BTreeSet;

use haft_model::{Code, Plan, Stop};
use haft_notation::Path;
use haft_notation::range::{self, VersionRange};
use serde::Deserialize;
use serde_json::Value;

use super::arguments;
use crate::DeclaredEntries;
use crate::declared::{Wrap, unsupported};

/// Fields that would change the meaning of a call, and that this version does not support.
const UNSUPPORTED: [&str; 4] = ["code", "run", "inputsFiles", "outputsFiles"];

/// The language runtime of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runtime {
    Node,
    Python,
}

/// A package, and where it is.
pub(super) struct Package {
    pub(super) runtime: Runtime,
    pub(super) name: String,
    /// The supported version range, as written and as parsed.
    pub(super) versions: Option<(String, VersionRange)>,
    /// The module to load, if it is not the package itself.
    pub(super) entrypoint: Option<String>,
    /// Whether the package is part of the workspace.
    pub(super) local: bool,
    pub(super) path: Option<String>,
    pub(super) style: &'static str,
    /// The interpreter, if the manifest names one.
    pub(super) interpreter: Option<String>,
}

/// A function of a contract.
pub(super) struct Function {
    pub(super) reference: String,
    pub(super) args: Option<Value>,
    pub(super) client: Option<Value>,
    pub(super) extract: Path,
    /// Whether its whole return value is the output.
    pub(super) takes_all: bool,
    pub(super) wrap: Wrap,
    /// Whether it streams partial results through a callback.
    pub(super) calls_back: bool,
    /// Exceptions that mean no effect.
    pub(super) not_committed: Vec<String>,
    /// The exception that means an expired login.
    pub(super) expired: Option<String>,
    /// The secrets that its templates name.
    pub(super) secrets: BTreeSet<String>,
    /// The driver's other secrets, passed as environment variables of the worker.
    pub(super) variables: Vec<String>,
}

#[derive(Deserialize)]
struct SdkManifestText {
    package: String,
    package_manager: String,
    package_version: Option<String>,
    entrypoint: Option<String>,
    import_style: Option<String>,
    streaming: Option<Streaming>,
    client_options: Option<Value>,
    #[serde(default)]
    install: Vec<Install>,
    #[serde(default)]
    auth: SdkAuth,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Streaming {
    mode: Option<String>,
}

#[derive(Deserialize)]
struct Install {
    method: Option<String>,
    path: Option<String>,
}

#[derive(Default, Deserialize)]
struct SdkAuth {
    #[serde(default)]
    state: SdkState,
    #[serde(default)]
    expiry: Expiry,
}

#[derive(Default, Deserialize)]
struct SdkState {
    #[serde(default)]
    env: Vec<String>,
}

#[derive(Default, Deserialize)]
struct Expiry {
    detect: Option<String>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    haft: Hints,
}

#[derive(Default, Deserialize)]
struct Hints {
    interpreter: Option<String>,
}

#[derive(Deserialize)]
struct SdkEntry {
    function_ref: String,
    args_template: Option<Value>,
    result_extract: Option<String>,
    streaming: Option<Streaming>,
}

#[derive(Default, Deserialize)]
struct SdkExtras {
    client_options: Option<Value>,
    /// Exception names; other driver kinds write numbers here.
    #[serde(default)]
    not_committed: Vec<Value>,
    #[serde(default)]
    wrap: Wrap,
}

impl Package {
    /// Parses the package of a driver.
    pub(super) fn read(declared: &DeclaredEntries) -> Result<Package, Stop> {
        let id = declared.id();
        if let Some(field) = UNSUPPORTED.iter().find(|name| declared.manifest.get(**name).is_some())
        {
            return Err(unsupported(id, &format!("`{field}`")));
        }
        let written: SdkManifestText = declared.part("")?;
        let runtime = runtime(&written, id)?;
        let local = written.package_manager == "local";
        let vendored = || written.install.into_iter().find_map(Install::vendored);
        let is_path = |place: &String| runtime == Runtime::Node || is_file(place);
        let path = written.entrypoint.clone().filter(is_path).or_else(vendored).filter(|_| local);
        Ok(Package {
            runtime,
            name: written.package,
            versions: written
                .package_version
                .map(|text| versions(text, runtime, id))
                .transpose()?,
            entrypoint: written.entrypoint.filter(|_| path.is_none()),
            local,
            path,
            style: if written.import_style.as_deref() == Some("cjs") { "cjs" } else { "esm" },
            interpreter: written.metadata.haft.interpreter,
        })
    }

    /// The module that Python imports.
    pub(super) fn module(&self) -> String {
        self.entrypoint.clone().unwrap_or_else(|| self.name.replace('-', "_"))
    }
}

impl Install {
    fn vendored(self) -> Option<String> {
        self.path.filter(|_| self.method.as_deref() == Some("vendored"))
    }
}

/// Whether a Python entrypoint is a file or folder, not a module name.
fn is_file(place: &str) -> bool {
    place.contains('/') || place.ends_with(".py")
}

fn owned(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn runtime(written: &SdkManifestText, driver: &str) -> Result<Runtime, Stop> {
    let (manager, style) = (written.package_manager.as_str(), written.import_style.as_deref());
    match (manager, style) {
        ("cargo" | "go", _) | (_, Some("rust-crate" | "go-module")) => {
            let words = format!(
                "driver `{driver}` names functions that are compiled, which no worker can load"
            );
            let help = "register such functions in Rust, with `define_driver`";
            Err(Stop::new(Code::SetupRequired, words).help(help))
        }
        ("pip" | "poetry", None | Some("python")) | ("local", Some("python")) => {
            Ok(Runtime::Python)
        }
        ("npm" | "pnpm" | "yarn" | "local", None | Some("esm" | "cjs")) => Ok(Runtime::Node),
        (_, style) => {
            let style = style.unwrap_or_default();
            let words = format!(
                "driver `{driver}` loads a package of `{manager}` as `{style}`, which does not fit"
            );
            Err(Stop::new(Code::SetupRequired, words).help("say `esm`, `cjs` or `python`"))
        }
    }
}

fn versions(text: String, runtime: Runtime, driver: &str) -> Result<(String, VersionRange), Stop> {
    let read = match runtime {
        Runtime::Node => range::parse(&text),
        Runtime::Python => range::parse_python(&text),
    };
    match read {
        Ok(range) => Ok((text, range)),
        Err(fault) => {
            let words = format!("driver `{driver}`: `package_version` cannot be used: {fault}");
            Err(Stop::new(Code::SetupRequired, words).help("run `haft check`"))
        }
    }
}

impl Function {
    /// Parses the function for a plan.
    pub(super) fn read(declared: &DeclaredEntries, plan: &Plan) -> Result<Function, Stop> {
        let entry: SdkEntry = declared.entry(plan, "sdk")?;
        let haft: SdkExtras = declared.entry(plan, "haft")?;
        let written: SdkManifestText = declared.part("")?;
        let client = haft.client_options.or(written.client_options);
        let templates = entry.args_template.iter().chain(&client);
        let secrets: BTreeSet<String> = templates.flat_map(arguments::secrets).collect();
        let streaming = entry.streaming.or(written.streaming).and_then(|streaming| streaming.mode);
        let expired = written.auth.expiry.detect;
        let extract = entry.result_extract.as_deref().unwrap_or("$");
        Ok(Function {
            extract: Path::parse(extract).map_err(|fault| {
                let words = format!("`result_extract` cannot be used: {fault}");
                Stop::new(Code::SetupRequired, words).help("run `haft check`")
            })?,
            takes_all: extract == "$",
            wrap: haft.wrap,
            reference: entry.function_ref,
            args: entry.args_template,
            client,
            calls_back: streaming.as_deref() == Some("callback"),
            not_committed: haft.not_committed.iter().filter_map(owned).collect(),
            expired: expired.and_then(|text| Some(text.strip_prefix("exception:")?.to_owned())),
            variables: written
                .auth
                .state
                .env
                .into_iter()
                .filter(|name| !secrets.contains(name))
                .collect(),
            secrets,
        })
    }
}
