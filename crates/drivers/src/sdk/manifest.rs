//! SDK manifest: parses the package, and the function of each contract.

use std::collections::BTreeSet;

use haft_contract::driver::manifest::{
    DriverManifest, EntryMetadata, InstallEntry, KindFields, SdkFields,
};
use haft_model::{Code, Plan, Stop};
use haft_notation::Path;
use haft_notation::range::{self, VersionRange};
use serde_json::Value;

use super::arguments;
use crate::DeclaredEntries;
use crate::declared::{Wrap, unreadable, unsupported};

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

impl Package {
    /// Parses the package of a driver.
    pub(super) fn read(declared: &DeclaredEntries) -> Result<Package, Stop> {
        let manifest = declared.manifest()?;
        let id = &manifest.id;
        if let Some(field) = manifest.unsupported() {
            return Err(unsupported(id, &format!("`{field}`")));
        }
        let fields = fields(manifest)?;
        let runtime = runtime(fields, id)?;
        let local = fields.package_manager == "local";
        let vendored = || manifest.install.iter().find_map(vendored);
        let is_path = |place: &String| runtime == Runtime::Node || is_file(place);
        let path = fields.entrypoint.clone().filter(is_path).or_else(vendored).filter(|_| local);
        let ranged = fields.package_version.clone().map(|text| versions(text, runtime, id));
        Ok(Package {
            runtime,
            name: fields.package.clone(),
            versions: ranged.transpose()?,
            entrypoint: fields.entrypoint.clone().filter(|_| path.is_none()),
            local,
            path,
            style: if fields.import_style.as_deref() == Some("cjs") { "cjs" } else { "esm" },
            interpreter: manifest.metadata.haft.interpreter.clone(),
        })
    }

    /// The module that Python imports.
    pub(super) fn module(&self) -> String {
        self.entrypoint.clone().unwrap_or_else(|| self.name.replace('-', "_"))
    }
}

/// The fields of kind sdk.
fn fields(manifest: &DriverManifest) -> Result<&SdkFields, Stop> {
    match &manifest.kind {
        KindFields::Sdk(fields) => Ok(fields),
        KindFields::Builtin | KindFields::Cli(_) | KindFields::Http(_) | KindFields::Mcp(_) => {
            Err(unreadable(&manifest.id, "package"))
        }
    }
}

fn vendored(entry: &InstallEntry) -> Option<String> {
    entry.path.clone().filter(|_| entry.method == "vendored")
}

/// Whether a Python entrypoint is a file or folder, not a module name.
fn is_file(place: &str) -> bool {
    place.contains('/') || place.ends_with(".py")
}

fn owned(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn runtime(written: &SdkFields, driver: &str) -> Result<Runtime, Stop> {
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
        let manifest = declared.manifest()?;
        let fields = fields(manifest)?;
        let EntryMetadata { sdk, haft, .. } = declared.entry(plan)?;
        let missing = || unreadable(&manifest.id, "metadata.sdk");
        let entry = sdk.clone().ok_or_else(missing)?;
        let client = haft.client_options.clone().or_else(|| fields.client_options.clone());
        let templates = entry.args_template.iter().chain(&client);
        let secrets: BTreeSet<String> = templates.flat_map(arguments::secrets).collect();
        let streaming = entry.streaming.as_ref().or(fields.streaming.as_ref());
        let streaming = streaming.and_then(|streaming| streaming.mode.as_deref());
        let auth = manifest.auth.clone().unwrap_or_default();
        let expired = auth.expiry.as_ref().map(|expiry| expiry.detect.as_str());
        let extract = entry.result_extract.as_deref().unwrap_or("$");
        let variables = auth.state.env.into_iter().filter(|name| !secrets.contains(name));
        Ok(Function {
            extract: Path::parse(extract).map_err(|fault| {
                let words = format!("`result_extract` cannot be used: {fault}");
                Stop::new(Code::SetupRequired, words).help("run `haft check`")
            })?,
            takes_all: extract == "$",
            wrap: Wrap(haft.wrap.clone()),
            reference: entry.function_ref,
            args: entry.args_template,
            client,
            calls_back: streaming == Some("callback"),
            not_committed: haft.not_committed.iter().filter_map(owned).collect(),
            expired: expired.and_then(|text| Some(text.strip_prefix("exception:")?.to_owned())),
            variables: variables.collect(),
            secrets,
        })
    }
}
