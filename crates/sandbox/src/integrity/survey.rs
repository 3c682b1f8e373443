//! Survey of governing files: finds them in the writable places with one bounded walk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use haft_model::governing::{Extent, Governing};

use super::baseline::{Baseline, Identity, identity};
use super::{GoverningChange, Intrusion, Places};
use crate::{Access, LinkTarget, MountedPath};

/// Most names of a walk before the run is refused: below a fifth of a second on common machines.
const MOST: usize = 500_000;

/// The governing files in some places.
#[derive(Clone, Debug, Default)]
pub(super) struct Survey {
    pub(super) found: BTreeMap<PathBuf, GoverningPath>,
    /// Other hard links of governing files, through which they could be changed.
    same: Vec<PathBuf>,
    /// The targets of governing symlinks that lie in the places.
    linked: Vec<LinkTarget>,
    /// The paths that are mounted read-only.
    pub(super) baseline: Baseline,
}

/// One path that governs.
#[derive(Clone, Debug)]
pub(super) struct GoverningPath {
    row: &'static Governing,
    identity: Identity,
    folder: bool,
    /// Its target, if it is a symlink.
    pub(super) target: Option<PathBuf>,
}

/// The findings of a walk.
struct SurveyWalk<'a> {
    places: &'a Places,
    left: usize,
    /// Governing files with more than one hard link.
    shared: BTreeSet<Identity>,
    found: BTreeMap<PathBuf, GoverningPath>,
    unreadable: Vec<PathBuf>,
}

impl Survey {
    /// Surveys the places. A place that cannot be surveyed cannot be protected.
    pub(super) fn of(places: &Places) -> Result<Survey, String> {
        let mut walk = SurveyWalk::new(places);
        walk.note_rules()?;
        walk.everywhere()?;
        let linked = walk.linked()?;
        if let Some(folder) = walk.unreadable.first() {
            return Err(format!(
                "`{}` cannot be read, so that it cannot be protected",
                folder.display()
            ));
        }
        let (shared, found) = (walk.shared, walk.found);
        let same = match shared.is_empty() {
            true => Vec::new(),
            false => other_names(places, &shared, &found)?,
        };
        let mut survey = Survey { found, same, linked, baseline: Baseline::default() };
        let linked = survey.linked.iter().map(|linked| (&linked.path, linked.row));
        survey.baseline = Baseline::of(survey.closed().chain(linked));
        Ok(survey)
    }

    /// The paths that govern as files or with everything below them.
    fn closed(&self) -> impl Iterator<Item = (&PathBuf, &'static Governing)> {
        let governs = self.found.iter().filter(|(_, seen)| seen.target.is_none());
        let closed = governs.filter(|(_, seen)| seen.row.extent == Extent::Whole || !seen.folder);
        closed.map(|(path, seen)| (path, seen.row))
    }

    /// The mounts over the places: governing files are read-only, and folders that lead to them
    /// stay where they are.
    pub(super) fn mounts(&self, places: &Places) -> Vec<MountedPath> {
        let mut read: BTreeSet<PathBuf> = self.closed().map(|(path, _)| path.clone()).collect();
        read.extend(self.same.iter().cloned());
        let there = self.linked.iter().filter(|linked| linked.path.exists());
        let linked: Vec<PathBuf> = there.map(|linked| linked.path.clone()).collect();
        let inside = |folder: &&Path| places.holds(folder) && !places.is_root(folder);
        let above = |path: &'_ Path| {
            path.ancestors().skip(1).take_while(inside).map(Path::to_owned).collect::<Vec<_>>()
        };
        let ordinary = read.iter().flat_map(|path| above(path));
        let leading = ordinary.filter(|folder| places.protection.leads_to_governing(folder));
        // A symlink names its target by every folder on the way, so all of those must stay.
        let mut fixed: BTreeSet<PathBuf> = leading.collect();
        fixed.extend(linked.iter().flat_map(|path| above(path)));
        read.extend(linked);
        let fixed = fixed.into_iter().map(|path| MountedPath { path, access: Access::Write });
        let read = read.into_iter().map(|path| MountedPath { path, access: Access::Read });
        fixed.chain(read).collect()
    }

    /// What governs now and did not before, and what no longer does.
    pub(super) fn intrusions(&self, places: &Places) -> Vec<Intrusion> {
        let mut walk = SurveyWalk::new(places);
        let walked = walk.everywhere();
        let intrusion = |path: &Path, change, reason| Intrusion {
            path: path.to_owned(),
            change,
            reason,
            quarantined: None,
        };
        let mut found = Vec::new();
        for (path, now) in &walk.found {
            let change = match self.found.get(path) {
                Some(then) if then.target == now.target => continue,
                Some(_) => GoverningChange::Relinked,
                None if self.was_elsewhere(now, &walk.found) => GoverningChange::Moved,
                None => GoverningChange::Created,
            };
            found.push(intrusion(path, change, now.row.reason));
        }
        let links = self.found.iter().filter(|(_, then)| then.target.is_some());
        let gone = links.filter(|(path, _)| !walk.found.contains_key(*path));
        found.extend(
            gone.map(|(path, then)| intrusion(path, GoverningChange::Relinked, then.row.reason)),
        );
        found.extend(self.baseline.replaced());
        let absent = self.linked.iter().filter(|linked| !self.baseline.holds(&linked.path));
        let absent = absent.map(|linked| (&linked.path, linked.row.reason));
        let denied = places.denied.iter().map(|path| (path, "the program may not have it"));
        let appeared = absent.chain(denied).filter(|(path, _)| fs::symlink_metadata(path).is_ok());
        for (path, reason) in appeared {
            if !found.iter().any(|known: &Intrusion| known.path == *path) {
                found.push(intrusion(path, GoverningChange::Created, reason));
            }
        }
        let hides = "it may hide anything";
        found.extend(
            walk.unreadable.iter().map(|path| intrusion(path, GoverningChange::Unreadable, hides)),
        );
        if let (Err(_), Some(root)) = (walked, places.roots.first()) {
            found.push(intrusion(root, GoverningChange::Unreadable, hides));
        }
        found
    }

    /// Whether the same file governed before under a path that is gone: then it was moved
    /// unchanged.
    fn was_elsewhere(&self, now: &GoverningPath, all: &BTreeMap<PathBuf, GoverningPath>) -> bool {
        let mut before = self.found.iter().filter(|(_, then)| then.identity == now.identity);
        before.any(|(path, _)| !all.contains_key(path))
    }
}

impl Places {
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    fn is_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path == root)
    }
}

impl<'a> SurveyWalk<'a> {
    fn new(places: &'a Places) -> SurveyWalk<'a> {
        SurveyWalk {
            places,
            left: MOST,
            shared: BTreeSet::new(),
            found: BTreeMap::new(),
            unreadable: Vec::new(),
        }
    }

    fn everywhere(&mut self) -> Result<(), String> {
        let mut folders: Vec<PathBuf> = self.places.roots.clone();
        while let Some(folder) = folders.pop() {
            self.look_into(&folder, &mut folders)?;
        }
        Ok(())
    }

    /// The targets of governing symlinks that lie in the places, and the hard links of those.
    fn linked(&mut self) -> Result<Vec<LinkTarget>, String> {
        let protection = &self.places.protection;
        let mut linked = protection.linked()?;
        let deep = self.found.iter().filter(|(_, seen)| seen.target.is_some());
        let deep = protection.targets_of(deep.map(|(path, _)| path))?;
        linked.extend(deep);
        let leads_above = |target: &&LinkTarget| {
            self.places.roots.iter().any(|root| root.starts_with(&target.path))
        };
        if let Some(target) = linked.iter().find(leads_above) {
            return Err(format!(
                "a governing link leads to `{}`, which holds all that the program may write",
                target.path.display()
            ));
        }
        linked.iter().try_for_each(|target| self.note_shared(&target.path))?;
        let mut known = BTreeSet::new();
        linked.retain(|target| {
            let is_new = known.insert(target.path.clone());
            is_new && self.places.holds(&target.path) && !self.found.contains_key(&target.path)
        });
        Ok(linked)
    }

    fn look_into(&mut self, folder: &Path, folders: &mut Vec<PathBuf>) -> Result<(), String> {
        let protection = &self.places.protection;
        let leads = protection.leads_to_governing(folder);
        for entry in self.listed(folder)? {
            self.count()?;
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let worth = leads || protection.is_worth_asking(folder, &name.to_string_lossy());
            if !worth && !is_folder {
                continue;
            }
            let path = entry.path();
            if self.places.hidden.contains(&path) {
                continue;
            }
            let row = if worth { protection.governing(&path) } else { None };
            let enter = match row {
                Some(row) => {
                    self.note(&path, row)?;
                    row.extent == Extent::Entry
                }
                None => true,
            };
            if enter && is_folder {
                folders.push(path);
            }
        }
        Ok(())
    }

    fn note(&mut self, path: &Path, row: &'static Governing) -> Result<(), String> {
        let Ok(about) = fs::symlink_metadata(path) else { return Ok(()) };
        let target = about.is_symlink().then(|| fs::read_link(path).unwrap_or_default());
        let seen =
            GoverningPath { row, identity: identity(&about), folder: about.is_dir(), target };
        self.found.insert(path.to_owned(), seen);
        match row.extent {
            Extent::Whole => self.note_shared(path),
            Extent::Entry => Ok(()),
        }
    }

    /// Notes every rule file of the workspace that has other hard links, wherever it lies.
    fn note_rules(&mut self) -> Result<(), String> {
        let root = self.places.protection.workspace().to_owned();
        for entry in self.listed(&root)? {
            self.count()?;
            let path = entry.path();
            if self
                .places
                .protection
                .governing(&path)
                .is_some_and(|row| row.extent == Extent::Whole)
                && !self.places.hidden.contains(&path)
            {
                self.note_shared(&path)?;
            }
        }
        [".git/config", ".git/hooks"].iter().try_for_each(|path| self.note_shared(&root.join(path)))
    }

    fn note_shared(&mut self, path: &Path) -> Result<(), String> {
        let mut paths = vec![path.to_owned()];
        while let Some(path) = paths.pop() {
            self.count()?;
            let Ok(about) = fs::symlink_metadata(&path) else { continue };
            if about.is_dir() {
                paths.extend(self.listed(&path)?.map(|entry| entry.path()));
            } else if about.is_file() && about.nlink() > 1 {
                self.shared.insert(identity(&about));
            }
        }
        Ok(())
    }

    /// The entries of a folder. A folder that is gone, or is a file, has none.
    fn listed(
        &mut self,
        folder: &Path,
    ) -> Result<impl Iterator<Item = fs::DirEntry> + use<>, String> {
        let listed = match fs::read_dir(folder) {
            Ok(listed) => Some(listed),
            Err(fault)
                if matches!(fault.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                None
            }
            Err(_) => {
                self.unreadable.push(folder.to_owned());
                None
            }
        };
        Ok(listed.into_iter().flatten().flatten())
    }

    fn count(&mut self) -> Result<(), String> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            format!(
                "the program may write more than {MOST} files and folders, too many to be looked \
                 through: narrow `mutates` or `sandbox.fs.write` to a folder"
            )
        })?;
        Ok(())
    }
}

/// Every other hard link of some files in the places.
fn other_names(
    places: &Places,
    shared: &BTreeSet<Identity>,
    found: &BTreeMap<PathBuf, GoverningPath>,
) -> Result<Vec<PathBuf>, String> {
    let numbers: BTreeSet<u64> = shared.iter().map(|(_, number, _)| *number).collect();
    let mut walk = SurveyWalk::new(places);
    let (mut names, mut folders) = (Vec::new(), Vec::new());
    for root in &places.roots {
        let alone = fs::symlink_metadata(root)
            .is_ok_and(|about| about.is_file() && shared.contains(&identity(&about)));
        if alone {
            let words = format!("`{}` is another name of a file that governs", root.display());
            return Err(words);
        }
        folders.push(root.clone());
    }
    while let Some(folder) = folders.pop() {
        for entry in walk.listed(&folder)? {
            walk.count()?;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if !found.contains_key(&path) || !is_closed(found, &path) {
                    folders.push(path);
                }
            } else if numbers.contains(&entry.ino()) && !found.contains_key(&path) {
                let same = fs::symlink_metadata(&path)
                    .is_ok_and(|about| shared.contains(&identity(&about)));
                names.extend(same.then_some(path));
            }
        }
    }
    Ok(names)
}

fn is_closed(found: &BTreeMap<PathBuf, GoverningPath>, path: &Path) -> bool {
    found.get(path).is_some_and(|seen| seen.row.extent == Extent::Whole)
}
