//! Interpreter lookup: finds the Node or Python of a worker, and the folders that it needs to see.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use haft_model::{Code, Stop};

use super::manifest::{Package, Runtime};
use crate::WorkingFolder;
use crate::sandbox_opening::installations;

/// Search path where no `PATH` is set.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// An interpreter that runs workers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Interpreter {
    pub(super) program: PathBuf,
    /// Its own libraries, if they are outside the system folders.
    pub(super) needs: Vec<PathBuf>,
}

impl Interpreter {
    /// The interpreter that the manifest names, that of the workspace's `.venv`, or the first on
    /// `PATH`.
    pub(super) fn of(
        package: &Package,
        root: &Path,
        place: &WorkingFolder,
    ) -> Result<Interpreter, Stop> {
        let home = (place.variable)("HOME").map(PathBuf::from);
        let program = match &package.interpreter {
            Some(named) => Some(within(named, root, home.as_deref())).filter(|path| path.is_file()),
            None => candidates(package.runtime, root, place).into_iter().find(|path| runs(path)),
        };
        let program = program.ok_or_else(|| missing(package))?;
        Ok(match package.runtime {
            // Node is a single file.
            Runtime::Node => Interpreter {
                program: fs::canonicalize(&program).unwrap_or(program),
                needs: Vec::new(),
            },
            // Python finds its environment through the name that it is started by.
            Runtime::Python => {
                let needs = installations(&program, home.as_deref());
                Interpreter { program, needs }
            }
        })
    }
}

/// The Node of the user who runs Haft, if installed.
pub(crate) fn node(root: &Path, place: &WorkingFolder) -> Option<PathBuf> {
    let found = candidates(Runtime::Node, root, place).into_iter().find(|path| runs(path))?;
    Some(fs::canonicalize(&found).unwrap_or(found))
}

fn within(named: &str, root: &Path, home: Option<&Path>) -> PathBuf {
    match (named.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        (_, _) => root.join(named),
    }
}

fn candidates(runtime: Runtime, root: &Path, place: &WorkingFolder) -> Vec<PathBuf> {
    let name = match runtime {
        Runtime::Node => "node",
        Runtime::Python => "python3",
    };
    let path = (place.variable)("PATH").unwrap_or_else(|| USUAL.to_owned());
    let folders = path.split(':').filter(|folder| folder.starts_with('/'));
    let found = folders.map(|folder| Path::new(folder).join(name));
    match runtime {
        Runtime::Node => found.collect(),
        Runtime::Python => std::iter::once(root.join(".venv/bin/python")).chain(found).collect(),
    }
}

/// Whether a file is a binary. A shim script is not: inside the sandbox it would find no
/// interpreter.
fn runs(path: &Path) -> bool {
    let mut start = [0; 2];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start != *b"#!")
}

fn missing(package: &Package) -> Stop {
    let (what, where_else) = match package.runtime {
        Runtime::Node => ("Node", "install `node`"),
        Runtime::Python => ("Python", "make a `.venv` in the workspace, install `python3`"),
    };
    let words = match &package.interpreter {
        Some(named) => format!("the interpreter `{named}` is not there"),
        None => format!("there is no {what} to run `{}`", package.name),
    };
    let help = format!("{where_else}, or name the program in `metadata.haft.interpreter`");
    Stop::new(Code::SetupRequired, words).help(help)
}

#[cfg(test)]
mod tests;
