//! Server program: resolves the executable of a stdio server. Nothing is installed or fetched here;
//! a missing package is refused.

use std::fs;
use std::path::{Path, PathBuf};

use haft_model::{Code, Stop};
use serde_json::Value;

use super::manifest::{ProgramInputs, ServerLocation, ServerManifest};
use crate::WorkingFolder;
use crate::sdk::node;

/// Global npm package folders.
const SHARED: [&str; 2] = ["/usr/local/lib/node_modules", "/usr/lib/node_modules"];

/// A program with its arguments, and the folder that its sandbox must show beside the workspace.
pub(super) struct Program {
    pub(super) program: String,
    pub(super) args: Vec<String>,
    pub(super) shown: Option<PathBuf>,
}

impl Program {
    /// Resolves the program of a `binary` or `npm` server.
    pub(super) fn of(
        written: &ServerManifest,
        root: &Path,
        place: &WorkingFolder,
    ) -> Result<Program, Stop> {
        match &written.server {
            ServerLocation::Npm { package, given } => Program::npm(package, given, root, place),
            ServerLocation::Binary { path, given } => Ok(Program::binary(path, given)),
            ServerLocation::Docker { .. } | ServerLocation::Remote { .. } => {
                Err(Stop::new(Code::Internal, "this server is no program"))
            }
        }
    }

    /// The argument vector, the program first.
    pub(super) fn argv(self) -> Vec<String> {
        std::iter::once(self.program).chain(self.args).collect()
    }

    /// A program by its path or name.
    fn binary(path: &str, given: &ProgramInputs) -> Program {
        Program { program: path.to_owned(), args: given.args.clone(), shown: None }
    }

    /// An npm package that is installed in the workspace or globally.
    fn npm(
        package: &str,
        given: &ProgramInputs,
        root: &Path,
        place: &WorkingFolder,
    ) -> Result<Program, Stop> {
        let (name, version) = named(package);
        let places = [root.join("node_modules")].into_iter().chain(SHARED.map(PathBuf::from));
        let mut places = places.map(|modules| (modules.join(name), modules));
        let found = places.find(|(folder, _)| folder.join("package.json").is_file());
        let (folder, modules) = found.ok_or_else(|| missing(name, version))?;
        let manifest = read(&folder.join("package.json")).ok_or_else(|| broken(name))?;
        if let Some(wanted) = version {
            let there = manifest.get("version").and_then(Value::as_str).unwrap_or_default();
            if there != wanted {
                let words = format!("`{name}` is installed as {there}, and {wanted} is wanted");
                let help = format!("npm install {name}@{wanted}");
                return Err(Stop::new(Code::SetupRequired, words).help(help));
            }
        }
        let script = script(&manifest, name).ok_or_else(|| broken(name))?;
        let script = fs::canonicalize(folder.join(script)).map_err(|_| broken(name))?;
        let mut args = vec![script.display().to_string()];
        args.extend(given.args.iter().cloned());
        let shown = fs::canonicalize(&modules).unwrap_or(modules);
        let node = node(root, place).map(|path| path.display().to_string());
        Ok(Program { program: node.unwrap_or_else(|| "node".into()), args, shown: Some(shown) })
    }
}

/// Splits a package spec into name and version.
fn named(package: &str) -> (&str, Option<&str>) {
    let start = usize::from(package.starts_with('@'));
    match package.get(start..).and_then(|rest| rest.find('@')) {
        Some(at) => {
            let (name, version) = package.split_at(start + at);
            (name, version.strip_prefix('@'))
        }
        None => (package, None),
    }
}

fn read(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// The script of a package: its only one, else the one with its name, else the first.
fn script<'a>(manifest: &'a Value, name: &str) -> Option<&'a str> {
    let bin = manifest.get("bin")?;
    if let Some(only) = bin.as_str() {
        return Some(only);
    }
    let programs = bin.as_object()?;
    let short = name.rsplit('/').next().unwrap_or(name);
    let named = programs.get(short).or_else(|| programs.values().next());
    named.and_then(Value::as_str)
}

fn missing(name: &str, version: Option<&str>) -> Stop {
    let wanted = version.map(|version| format!("@{version}")).unwrap_or_default();
    Stop::new(Code::SetupRequired, format!("the npm package `{name}` is not installed"))
        .help(format!("run `npm install {name}{wanted}` in the workspace; nothing is fetched when a tool is called"))
}

fn broken(name: &str) -> Stop {
    Stop::new(Code::SetupRequired, format!("the npm package `{name}` names no program to run"))
        .help("use a server of kind binary")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_told_from_its_version() {
        assert_eq!(named("server"), ("server", None));
        assert_eq!(named("server@1.2.3"), ("server", Some("1.2.3")));
        assert_eq!(named("@a/server"), ("@a/server", None));
        assert_eq!(named("@a/server@1.2.3"), ("@a/server", Some("1.2.3")));
    }
}
