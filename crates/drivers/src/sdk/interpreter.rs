//! Which interpreter runs a worker, and what it needs to see of this machine to run at all.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use haft_model::{Code, Stop};

use super::manifest::{Package, Runtime};
use crate::Place;

/// Where programs are looked for that nobody says more about.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// What every confined program sees anyway.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/gnu/store"];

/// How many links may lie between a name and its program.
const MOST_LINKS: usize = 16;

/// A program that runs workers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Interpreter {
    pub(super) program: PathBuf,
    /// Its own libraries, where they are not the system's.
    pub(super) needs: Vec<PathBuf>,
}

impl Interpreter {
    /// The one that the manifest names, the one of the workspace's `.venv`, or the first of `PATH`.
    pub(super) fn of(package: &Package, root: &Path, place: &Place) -> Result<Interpreter, Stop> {
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
                let own = |path: &PathBuf| Some(path.as_path()) != home.as_deref();
                let mut needs: Vec<_> =
                    way(&program).iter().filter_map(|step| prefix(step)).filter(own).collect();
                needs.dedup();
                Interpreter { program, needs }
            }
        })
    }
}

fn within(named: &str, root: &Path, home: Option<&Path>) -> PathBuf {
    match (named.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        (_, _) => root.join(named),
    }
}

fn candidates(runtime: Runtime, root: &Path, place: &Place) -> Vec<PathBuf> {
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

/// Every name on the way from a name to its program.
fn way(program: &Path) -> Vec<PathBuf> {
    let mut steps = vec![program.to_owned()];
    while let Some(last) = steps.last().filter(|_| steps.len() < MOST_LINKS) {
        let Ok(target) = fs::read_link(last) else { break };
        let next = last.parent().map_or_else(|| target.clone(), |folder| folder.join(&target));
        steps.push(next);
    }
    steps.extend(fs::canonicalize(program));
    steps
}

/// The folder that an installation of Python is in: the one above `bin` that has its libraries.
fn prefix(program: &Path) -> Option<PathBuf> {
    let prefix = program.parent().filter(|folder| folder.ends_with("bin"))?.parent()?;
    let is_system = SYSTEM.iter().any(|system| prefix.starts_with(system));
    let mut libraries = fs::read_dir(prefix.join("lib")).ok()?.flatten();
    let is_python =
        libraries.any(|entry| entry.file_name().to_string_lossy().starts_with("python3"));
    (is_python && !is_system && prefix.parent().is_some()).then(|| prefix.to_owned())
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
