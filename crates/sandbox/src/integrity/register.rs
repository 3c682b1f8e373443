//! Runs that may write where a workspace's rules are read, told to every process that reads them.
//!
//! A run leaves a locked file that says which rules were not there, or were links, when it began.
//! Whoever reads the rules leaves out what differs from that while the file is locked. A file that
//! nobody locks belongs to a process that ended before it looked at what its run left: the next
//! reader does that in its place. Runs begin and rules are read in turn, so neither misses the other.

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

/// How often a turn is asked for, and how long it is waited between: five seconds in all.
const TRIES: u32 = 500;
const BETWEEN: Duration = Duration::from_millis(10);

/// How much one run has to say; a longer file is none of ours.
const LONGEST: u64 = 64 * 1024;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// The rules as a run found them: each name that was not there, or the file that a link or the lock was.
type Rules = BTreeMap<String, Option<Identity>>;

/// A run that is under way. Dropped without an end it is somebody else's to look at.
#[derive(Debug)]
pub(super) struct Registration {
    path: PathBuf,
    _locked: File,
}

impl Registration {
    /// Registers a run that is about to begin, unless rules are being read.
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

    /// The run is over and was looked at.
    pub(super) fn end(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A turn at reading the rules of a workspace: no run that could change them begins meanwhile.
#[derive(Debug)]
pub struct Loading {
    workspace: PathBuf,
    _turn: Option<File>,
    /// Whether there never was a run, and so nothing to take turns at.
    untouched: bool,
    suspects: Suspects,
}

/// Rules that a run may have made that is under way.
#[derive(Debug, Default)]
pub struct Suspects {
    workspace: PathBuf,
    expected: Vec<Rules>,
}

impl Loading {
    /// Takes the turn, and looks after runs whose process ended before it did that.
    pub fn begin(workspace: &Path) -> io::Result<Loading> {
        let folder = runs(workspace);
        let mut untouched = false;
        let turn = match turn(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(turn) => Some(turn),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
                untouched = true;
                None
            }
            // Whoever may only read the workspace cannot have runs in it, and reads what there is.
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

    /// What is left out of the reading.
    pub fn suspects(&self) -> &Suspects {
        &self.suspects
    }

    /// Whether no run can have begun since, so that what was read can be used.
    pub fn holds(&self) -> bool {
        !self.untouched || !runs(&self.workspace).is_dir()
    }
}

impl Suspects {
    /// Whether a rule was there when a run began and was replaced since.
    pub fn was_replaced(&self, name: &str) -> bool {
        let known = self.expected.iter().filter_map(|rules| rules.get(name)).flatten();
        let now = identity_at(&self.workspace.join(name));
        known.into_iter().any(|then| now != Some(*then))
    }

    /// Whether a rule, by its first name in the workspace, may be the work of a run that is under way.
    pub fn contains(&self, name: &str) -> bool {
        let now = || identity_at(&self.workspace.join(name));
        self.expected.iter().filter_map(|rules| rules.get(name)).any(|then| *then != now())
    }
}

/// Writes a rule of a workspace for a person, while no run begins and no rules are read.
///
/// A run that is under way has the file mounted read-only. Renaming another one over it would detach
/// that mount, so the file is then written in place: a crash leaves a part of it, which accepts less.
/// Otherwise it is written beside and renamed, so that a crash leaves the old file or the new one.
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
    // Beside the file every program could write it; in Haft's own folder none can.
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

/// What a run that is under way found. One that nobody looks after any more is looked at here.
fn standing(workspace: &Path, path: &Path) -> Option<Rules> {
    let mut file = File::open(path).ok()?;
    let mut text = Vec::new();
    (&mut file).take(LONGEST).read_to_end(&mut text).ok()?;
    let is_over = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    // One that says nothing is taken to have found none of what is loaded.
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

/// The rules of a workspace that no mount protects: those that are not there, and links. And the lock,
/// which a mount protects only until it is replaced, and which nothing else is held against.
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

/// Names of a workspace that the loader reads.
fn loaded() -> impl Iterator<Item = &'static str> {
    [SETTINGS_FILE, LOCK_FILE].into_iter().chain(MANIFEST_FILES).chain(MANIFEST_FOLDERS)
}

/// Names of a workspace that govern by themselves: those of the table that are no patterns, and of the
/// repository at its root.
fn names() -> impl Iterator<Item = &'static str> {
    let table = rows(Base::Workspace).iter().map(|row| row.pattern);
    let table = table.filter(|pattern| !pattern.contains('*'));
    table.chain([".envrc", ".gitmodules", ".git/config", ".git/hooks", ".git/config.worktree"])
}

fn runs(workspace: &Path) -> PathBuf {
    workspace.join(STATE_FOLDER).join("runs")
}

/// Waits for a turn, and holds it as long as the file is open.
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
