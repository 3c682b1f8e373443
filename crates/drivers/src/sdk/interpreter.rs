//! Which interpreter runs a worker, and what it needs to see of this machine to run at all.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use haft_model::{Code, Stop};

use super::manifest::{Package, Runtime};
use crate::WorkingFolder;
use crate::sandbox_opening::installations;

/// Where programs are looked for that nobody says more about.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program that runs workers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Interpreter {
    pub(super) program: PathBuf,
    /// Its own libraries, where they are not the system's.
    pub(super) needs: Vec<PathBuf>,
}

impl Interpreter {
    /// The one that the manifest names, the one of the workspace's `.venv`, or the first of `PATH`.
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
            // One file is all of Node.
            Runtime::Node => Interpreter {
                program: fs::canonicalize(&program).unwrap_or(program),
                needs: Vec::new(),
            },
            // Python knows its environment by the name that it was started by.
            Runtime::Python => {
                let needs = installations(&program, home.as_deref());
                Interpreter { program, needs }
            }
        })
    }
}

/// The Node of whoever runs Haft, if they have one.
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

/// Whether something is a program. A script that only picks one is not: inside it would find none.
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
