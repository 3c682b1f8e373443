//! Symbolic link resolution of governing paths: the target of such a link governs as well.
//!
//! A target that does not exist yet is resolved by name, so that creating it is creating a rule.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use haft_model::governing::{Extent, Governing, GoverningKind};

use super::Protection;

/// Deepest folder level that the loader reads.
const DEEPEST: usize = 16;

/// Most folders and symlinks of rules that are searched.
const MOST: usize = 50_000;

/// Most symlinks that a path may pass through, as in the kernel.
const MOST_LINKS: usize = 40;

/// The target of a governing symlink, whether or not it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTarget {
    /// The target, with every symlink on the way resolved.
    pub path: PathBuf,
    /// The row that governs the symlink, and by it the target.
    pub row: &'static Governing,
}

impl Protection {
    /// The targets of governing symlinks of the workspace and of the home: of the rules themselves,
    /// of folders that lead to them, and of symlinks inside them. An error if there are too many.
    pub fn linked(&self) -> Result<Vec<LinkTarget>, String> {
        let mut search = Search::new(self);
        search.list(&self.workspace, &self.workspace, Via::Itself, 0)?;
        if let Some(home) = self.home.as_ref().filter(|home| **home != self.workspace) {
            search.list(home, home, Via::Itself, 0)?;
        }
        for program in &self.programs {
            search.look(program, program, Via::Itself, 0)?;
        }
        Ok(search.found)
    }

    /// The targets of symlinks that were found elsewhere, such as those of a nested repository.
    pub(crate) fn targets_of<'a>(
        &self,
        links: impl Iterator<Item = &'a PathBuf>,
    ) -> Result<Vec<LinkTarget>, String> {
        let mut search = Search::new(self);
        for link in links {
            search.look(link, link, Via::Itself, 0)?;
        }
        Ok(search.found)
    }
}

/// How a search came to a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Via {
    /// By its own path, which the table knows.
    Itself,
    /// Through a symlink, so that the table knows it by another path.
    Link,
}

struct Search<'a> {
    protection: &'a Protection,
    found: Vec<LinkTarget>,
    entered: BTreeSet<PathBuf>,
    left: usize,
}

impl<'a> Search<'a> {
    fn new(protection: &'a Protection) -> Search<'a> {
        Search { protection, found: Vec::new(), entered: BTreeSet::new(), left: MOST }
    }

    /// Searches the entries of a folder, which the table knows as `named` and which lies at `real`.
    fn list(&mut self, named: &Path, real: &Path, via: Via, depth: usize) -> Result<(), String> {
        if depth > DEEPEST || !self.entered.insert(named.to_owned()) {
            return Ok(());
        }
        let listed = match fs::read_dir(real) {
            Ok(listed) => listed,
            Err(fault) if real.starts_with(&self.protection.workspace) && real.is_dir() => {
                return Err(format!("`{}`: {fault}", real.display()));
            }
            Err(_) => return Ok(()),
        };
        for entry in listed.flatten() {
            let plain = entry.file_type().is_ok_and(|kind| kind.is_file());
            if !plain || via == Via::Link {
                let name = entry.file_name();
                self.look(&named.join(&name), &real.join(&name), via, depth)?;
            }
        }
        Ok(())
    }

    fn look(&mut self, named: &Path, real: &Path, via: Via, depth: usize) -> Result<(), String> {
        let row = self.protection.governing(named);
        let leads = self.protection.leads_to_governing(named);
        let Ok(about) = fs::symlink_metadata(real) else { return Ok(()) };
        if row.is_none() && !leads {
            return Ok(());
        }
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            format!("more than {MOST} files and folders hold the rules of this workspace")
        })?;
        let (real, via) = match about.is_symlink() {
            true => match resolve(real) {
                Some(target) => (target, Via::Link),
                None => return Ok(()),
            },
            false => (real.to_owned(), via),
        };
        let is_folder = real.is_dir();
        let whole = row.filter(|row| row.extent == Extent::Whole || !is_folder);
        if let (Some(row), Via::Link) = (whole, via) {
            let target = LinkTarget { path: real.clone(), row };
            if !self.found.contains(&target) {
                self.found.push(target);
            }
        }
        // Haft's state folder holds no symlinks that are followed.
        let enters = whole.is_none_or(|row| row.kind != GoverningKind::State);
        match is_folder && enters {
            true => self.list(named, &real, via, depth + 1),
            false => Ok(()),
        }
    }
}

/// Resolves a path name by name. A name that does not exist stands for itself; `None` after too
/// many symlinks.
fn resolve(path: &Path) -> Option<PathBuf> {
    let mut ahead = steps(path);
    let (mut real, mut links) = (PathBuf::from("/"), 0);
    while let Some(step) = ahead.pop() {
        if step == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&step);
        match fs::read_link(&next) {
            Ok(target) => {
                links += 1;
                if links > MOST_LINKS {
                    return None;
                }
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                ahead.extend(steps(&target));
            }
            Err(_) => real = next,
        }
    }
    Some(real)
}

/// The components of a path, the last one first.
fn steps(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    let mut names: Vec<OsString> = names.collect();
    names.reverse();
    names
}
