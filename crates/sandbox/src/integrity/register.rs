//! Run registry: tells every process that reads a workspace's rules which runs may write them.
//!
//! A run leaves a locked file that lists the rules that did not exist, or were symlinks, when it
//! began. A reader leaves out every rule that differs from that while the file is locked. An
//! unlocked file belongs to a process that ended before it inspected its run: the next reader
//! inspects it instead. A lock serializes the start of runs and the reading of rules, so neither
//! misses the other.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haft_model::governing::{
    Base, LOCK_FILE, MANIFEST_FILES, MANIFEST_FOLDERS, SETTINGS_FILE, STATE_FOLDER, rows,
};
use rustix::fs::{FlockOperation, flock};

use super::baseline::{Identity, identity_at};
use super::quarantine::Quarantine;
use super::survey::Survey;
use super::{GoverningChange, Intrusion};
use crate::Protection;

/// How often the lock is tried, and the pause between two tries: five seconds in all.
const TRIES: u32 = 500;
const BETWEEN: Duration = Duration::from_millis(10);

/// Most bytes of a run's file; a longer one is not Haft's.
const LONGEST: u64 = 64 * 1024;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// The rules as a run found them: `None` for a name that did not exist, else the identity of a
/// symlink or of the lock file.
type Rules = BTreeMap<String, Option<Identity>>;

/// A run in progress. Dropped without [`Registration::end`], it is left for the next reader to
/// inspect.
#[derive(Debug)]
pub(super) struct Registration {
    path: PathBuf,
    _locked: File,
}

impl Registration {
    /// Registers a run that is about to begin, once no reader holds the lock.
    pub(super) fn new(protection: &Protection) -> io::Result<Registration> {
        let workspace = protection.workspace();
        let folder = runs(workspace);
        fs::create_dir_all(&folder)?;
        let _turn = turn(&folder, FlockOperation::NonBlockingLockShared)?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{}-{number}", std::process::id()));
        let mut file = File::create(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(&serde_json::to_vec(&found(protection))?)?;
        Ok(Registration { path, _locked: file })
    }

    /// Removes the registration of a run that ended and was inspected.
    pub(super) fn end(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A lock for reading the rules of a workspace: no run that could change them begins meanwhile.
#[derive(Debug)]
pub struct Loading {
    workspace: PathBuf,
    _turn: Option<File>,
    /// Whether there never was a run, so that there is nothing to lock.
    untouched: bool,
    suspects: Suspects,
}

/// Rules that a run in progress may have made.
#[derive(Debug, Default)]
pub struct Suspects {
    workspace: PathBuf,
    expected: Vec<Rules>,
}

impl Loading {
    /// Takes the lock, and inspects runs whose process ended before it did so.
    pub fn begin(workspace: &Path) -> io::Result<Loading> {
        let folder = runs(workspace);
        let mut untouched = false;
        let turn = match turn(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(turn) => Some(turn),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
                untouched = true;
                None
            }
            // A process that may only read the workspace cannot have runs in it, and reads what
            // there is.
            Err(fault) if fault.kind() == io::ErrorKind::PermissionDenied => None,
            Err(fault) => return Err(fault),
        };
        let mut expected = Vec::new();
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            expected.extend(standing(workspace, &entry.path()));
        }
        let suspects = Suspects { workspace: workspace.to_owned(), expected };
        Ok(Loading { workspace: workspace.to_owned(), _turn: turn, untouched, suspects })
    }

    /// The rules that the reader leaves out.
    pub fn suspects(&self) -> &Suspects {
        &self.suspects
    }

    /// Whether no run can have begun since, so that what was read can be used.
    pub fn holds(&self) -> bool {
        !self.untouched || !runs(&self.workspace).is_dir()
    }
}

impl Suspects {
    /// Whether a rule existed when a run began and was replaced since.
    pub fn was_replaced(&self, name: &str) -> bool {
        let known = self.expected.iter().filter_map(|rules| rules.get(name)).flatten();
        let now = identity_at(&self.workspace.join(name));
        known.into_iter().any(|then| now != Some(*then))
    }

    /// Whether a rule, by its first name in the workspace, may be the work of a run in progress.
    pub fn contains(&self, name: &str) -> bool {
        let now = || identity_at(&self.workspace.join(name));
        self.expected.iter().filter_map(|rules| rules.get(name)).any(|then| *then != now())
    }
}

/// Writes a rule of a workspace for a person, while no run begins and no rules are read.
///
/// A run in progress has the file mounted read-only. Renaming another one over it would detach that
/// mount, so the file is then written in place: a crash leaves a part of it, which accepts less.
/// Otherwise a temporary file is renamed over it, so that a crash leaves the old file or the new
/// one.
pub fn write_rule(workspace: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let (path, folder) = (workspace.join(name), runs(workspace));
    let turn = match turn(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(turn) => Some(turn),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => None,
        Err(fault) => return Err(fault),
    };
    let mut files = fs::read_dir(&folder).into_iter().flatten().flatten();
    let is_mounted = files.any(|file| standing(workspace, &file.path()).is_some());
    if is_mounted && path.is_file() {
        let mut file = fs::OpenOptions::new().write(true).truncate(true).open(&path)?;
        file.write_all(bytes)?;
        return file.sync_all();
    }
    // Beside the file every program could write it; in Haft's state folder none can.
    let beside = match turn {
        Some(_) => workspace.join(STATE_FOLDER).join(format!("{name}.{}", std::process::id())),
        None => workspace.join(format!("{name}.{}", std::process::id())),
    };
    let write = || -> io::Result<()> {
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, &path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// The rules that a run in progress found. An abandoned run is inspected here.
fn standing(workspace: &Path, path: &Path) -> Option<Rules> {
    let mut file = File::open(path).ok()?;
    let mut text = Vec::new();
    (&mut file).take(LONGEST).read_to_end(&mut text).ok()?;
    let is_over = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    // A file that does not parse counts as a run that found none of the loaded rules.
    let rules: Rules = serde_json::from_slice(&text)
        .unwrap_or_else(|_| loaded().map(|name| (name.to_owned(), None)).collect());
    if !is_over {
        return Some(rules);
    }
    let made = rules.iter().filter(|(name, then)| {
        let now = identity_at(&workspace.join(name));
        now.is_some() && now != **then
    });
    let mut intrusions: Vec<Intrusion> = made
        .map(|(name, _)| Intrusion {
            path: workspace.join(name),
            change: GoverningChange::Created,
            reason: "it appeared in a run that was cut off",
            quarantined: None,
        })
        .collect();
    if !intrusions.is_empty() {
        Quarantine::at(workspace).take(&mut intrusions, &Survey::default());
    }
    let left = intrusions.iter().any(|intrusion| intrusion.quarantined.is_none());
    if left {
        return Some(rules);
    }
    let _ = fs::remove_file(path);
    None
}

/// The rules of a workspace that no mount protects: those that do not exist, and symlinks. And the
/// lock file, which a mount protects only until it is replaced, and which nothing else is compared
/// with.
fn found(protection: &Protection) -> Rules {
    let workspace = protection.workspace();
    let unprotected = |name: &str| {
        let path = workspace.join(name);
        let link = fs::symlink_metadata(&path).is_ok_and(|about| about.is_symlink());
        let there = identity_at(&path);
        (link || there.is_none() || name == LOCK_FILE).then(|| (name.to_owned(), there))
    };
    // The configuration of version control may be open.
    let governs = |name: &&str| protection.governing(&workspace.join(name)).is_some();
    names().filter(governs).filter_map(unprotected).collect()
}

/// The names of a workspace that the loader reads.
fn loaded() -> impl Iterator<Item = &'static str> {
    [SETTINGS_FILE, LOCK_FILE].into_iter().chain(MANIFEST_FILES).chain(MANIFEST_FOLDERS)
}

/// The names of a workspace that govern by themselves: those of the table that are no patterns, and
/// those of the repository at its root.
fn names() -> impl Iterator<Item = &'static str> {
    let table = rows(Base::Workspace).iter().map(|row| row.pattern);
    let table = table.filter(|pattern| !pattern.contains('*'));
    table.chain([".envrc", ".gitmodules", ".git/config", ".git/hooks", ".git/config.worktree"])
}

fn runs(workspace: &Path) -> PathBuf {
    workspace.join(STATE_FOLDER).join("runs")
}

/// Waits for the lock, and holds it as long as the file is open.
fn turn(folder: &Path, operation: FlockOperation) -> io::Result<File> {
    let file = File::open(folder)?;
    for _ in 0..TRIES {
        match flock(&file, operation) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(BETWEEN),
            Err(fault) => return Err(fault.into()),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "its turn did not come in five seconds"))
}
