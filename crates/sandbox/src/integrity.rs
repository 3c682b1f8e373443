//! Integrity check of a run: it finds the governing files as they were, and leaves them so.
//!
//! Before a program starts, everything that governs where it may write is found and mounted
//! read-only. A file that does not exist yet cannot be mounted, so the same places are surveyed
//! again when the program is gone: what appeared is moved to quarantine, and the run is a
//! violation. A file that was replaced from outside is no longer mounted; the baseline detects
//! that, and knows what it was.

mod baseline;
mod quarantine;
mod register;
mod survey;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_model::governing::Extent;

use crate::{Access, ConfinedProgram, MountedPath, Protection, StartRefusal, Walls};
use quarantine::Quarantine;
use register::Registration;
use survey::Survey;

pub use register::{Loading, Suspects, write_rule};

/// How long an abandoned program may take to exit.
const GRACE: Duration = Duration::from_secs(5);

/// Most paths that are mounted read-only.
const MOST_PROTECTED: usize = 500;

/// A governing file that a run made, replaced or moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intrusion {
    /// Where it was.
    pub path: PathBuf,
    /// What the run did to it.
    pub change: GoverningChange,
    /// Why the path governs.
    pub reason: &'static str,
    /// Where it is in quarantine; `None` if it could not be moved.
    pub quarantined: Option<PathBuf>,
}

/// What a run did to a path that governs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoverningChange {
    /// It did not exist before.
    Created,
    /// It was a symlink, and leads elsewhere or is gone.
    Relinked,
    /// It was replaced from outside, so the program could write it since; its content differs.
    Replaced,
    /// A folder above it was moved.
    Moved,
    /// A folder became unreadable, and may hide anything.
    Unreadable,
}

/// The survey before a run, and the check after it. Dropped without a conclusion it concludes by
/// itself, once the program has had time to exit.
#[derive(Debug, Default)]
pub struct Custody(Option<Arc<HeldTree>>);

#[derive(Debug)]
struct HeldTree {
    places: Places,
    before: Survey,
    registration: Option<Registration>,
}

/// Where a program may write, and what governs there.
#[derive(Clone, Debug)]
struct Places {
    protection: Protection,
    roots: Vec<PathBuf>,
    /// Hidden paths, which the program cannot reach.
    hidden: Vec<PathBuf>,
    /// Denied paths that do not exist, so that no mount covers them.
    denied: Vec<PathBuf>,
}

impl ConfinedProgram {
    /// The program with its governing files mounted read-only, and the custody that checks it
    /// afterwards. It needs a sandbox: without one nothing is protected.
    pub async fn guarded(
        mut self,
        walls: &Walls,
    ) -> Result<(ConfinedProgram, Custody), StartRefusal> {
        let Some(protection) = self.protection.take() else { return Ok((self, Custody(None))) };
        let written = self.shown.iter().filter(|shown| shown.access == Access::Write);
        let mut roots: Vec<PathBuf> = written.map(|shown| shown.path.clone()).collect();
        roots.sort();
        // Sorted, a folder comes before its content.
        roots.dedup_by(|inner, outer| inner.starts_with(outer));
        if roots.is_empty() || matches!(walls, Walls::Off | Walls::Missing) {
            return Ok((self, Custody(None)));
        }
        let (hidden, denied) = (self.hidden.clone(), self.denied.clone());
        let places = Places { protection, roots, hidden, denied };
        let held = tokio::task::spawn_blocking(move || HeldTree::take(places)).await;
        let held = held.map_err(|fault| StartRefusal::Broken(fault.to_string()))??;
        self.shown.extend(held.mounts()?);
        Ok((self, Custody(Some(Arc::new(held)))))
    }
}

impl HeldTree {
    fn take(mut places: Places) -> Result<HeldTree, StartRefusal> {
        let governs = |root: &PathBuf| {
            let row = places.protection.governing(root)?;
            (row.extent == Extent::Whole || !root.is_dir()).then_some(row)
        };
        if let Some((root, row)) = places.roots.iter().find_map(|root| Some((root, governs(root)?)))
        {
            let words =
                format!("`{}` governs ({}), and no program writes it", root.display(), row.reason);
            return Err(StartRefusal::Violation(words));
        }
        let workspace = places.protection.workspace();
        let registration = match places.roots.iter().any(|root| workspace.starts_with(root)) {
            true => Some(Registration::new(&places.protection).map_err(|fault| {
                StartRefusal::Unenforced(format!(
                    "the run could not be registered in `.haft/runs`: {fault}"
                ))
            })?),
            false => None,
        };
        // Only a hidden path that exists is covered by a mount, so only that one is skipped.
        places.hidden.retain(|path| path.exists());
        let roots = places.roots.clone();
        places.denied.retain(|path| {
            fs::symlink_metadata(path).is_err() && roots.iter().any(|root| path.starts_with(root))
        });
        let before = Survey::of(&places).map_err(StartRefusal::Unenforced)?;
        Ok(HeldTree { places, before, registration })
    }

    /// The mounts over the writable places, outer before inner.
    fn mounts(&self) -> Result<Vec<MountedPath>, StartRefusal> {
        let mut mounts = self.before.mounts(&self.places);
        if mounts.len() > MOST_PROTECTED {
            let words = format!(
                "more than {MOST_PROTECTED} paths govern where the program may write: \
                 narrow `mutates` or `sandbox.fs.write` to a folder"
            );
            return Err(StartRefusal::Unenforced(words));
        }
        mounts.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(mounts)
    }

    /// Surveys the places again, and moves new governing files to quarantine.
    fn inspect(&self) -> Vec<Intrusion> {
        let mut intrusions = self.before.intrusions(&self.places);
        if !intrusions.is_empty() {
            Quarantine::at(self.places.protection.workspace()).take(&mut intrusions, &self.before);
        }
        intrusions
    }

    /// Inspects a program that is gone, and ends its registration.
    fn conclude(&self) -> Vec<Intrusion> {
        let intrusions = self.inspect();
        if let Some(registration) = &self.registration {
            registration.end();
        }
        intrusions
    }
}

impl Custody {
    /// Inspects a program that keeps running, and moves what it should not have made to quarantine.
    pub async fn inspect(&self) -> Vec<Intrusion> {
        let Some(held) = self.0.clone() else { return Vec::new() };
        tokio::task::spawn_blocking(move || held.inspect()).await.unwrap_or_default()
    }

    /// Whether a governing path was replaced from outside since the run began. Then no mount keeps
    /// the program from writing it, and the program must be ended.
    pub fn is_stale(&self) -> bool {
        self.0.as_ref().is_some_and(|held| held.before.baseline.is_stale())
    }

    /// Inspects a program that is gone, and ends the custody.
    pub async fn conclude(mut self) -> Vec<Intrusion> {
        let Some(held) = self.0.take() else { return Vec::new() };
        tokio::task::spawn_blocking(move || held.conclude()).await.unwrap_or_default()
    }
}

impl Drop for Custody {
    fn drop(&mut self) {
        if let Some(held) = self.0.take() {
            std::thread::spawn(move || {
                std::thread::sleep(GRACE);
                held.conclude();
            });
        }
    }
}

/// The violation in one sentence; `None` without intrusions.
pub fn violation(intrusions: &[Intrusion], root: &Path) -> Option<String> {
    let first = intrusions.first()?;
    let shown = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let (path, reason) = (shown(&first.path), first.reason);
    let mut words = match first.change {
        GoverningChange::Created => {
            format!("the program created `{path}`, which governs: {reason}")
        }
        GoverningChange::Relinked => {
            format!("the program replaced the link `{path}`, which governs: {reason}")
        }
        GoverningChange::Replaced => format!(
            "`{path}`, which governs, was replaced while the program could write it: {reason}"
        ),
        GoverningChange::Moved => format!("the program moved `{path}`, which governs: {reason}"),
        GoverningChange::Unreadable => {
            format!(
                "the program left `{path}` unreadable, so that nothing can be said of what it holds"
            )
        }
    };
    if intrusions.len() > 1 {
        let _ = write!(words, "; and {} more", intrusions.len() - 1);
    }
    match &first.quarantined {
        Some(place) => {
            let _ = write!(words, "; it lies in `{}` now", shown(place));
        }
        None if first.change == GoverningChange::Created => {
            words.push_str("; it could not be moved away")
        }
        None => {}
    }
    Some(words)
}
