//! Hot reload: which of the changed files a running host puts into force
//! ([0048](../../../../docs/decisions/0048-a-broken-manifest-goes-on-as-it-was.md)).

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_contract::{Diagnostic, Loosening, Reading, Severity, rules};
use haft_model::Notice;

use super::{Host, world};
use crate::workspace::{SETTINGS_FILE, SIDE_FILES};
use crate::{Error, Workspace};

/// The outcome of a reload.
#[derive(Debug)]
pub enum ReloadOutcome {
    /// The files say the same as before.
    Same,
    /// The new files are in force.
    Swapped,
    /// The old files stay in force: these errors are new, or the change would loosen what governs
    /// and no person accepted it.
    Kept(Vec<Notice>),
    /// The new files are in force, except where these errors are new: there the old manifests stay.
    Partly(Vec<Notice>),
    /// The new files are in force, and manifests with these new errors are out: the governing files
    /// changed as well, and the host cannot tell whether the old manifests may run under them.
    Without(Vec<Notice>),
}

impl Host {
    /// Reads the workspace again, and puts it into force as far as it has no new errors and what
    /// governs is no looser than before unless people accepted it. Whatever is in force, the
    /// notices say what is wrong with the files.
    pub fn refresh(&self) -> Result<ReloadOutcome, Error> {
        let now = self.workspace();
        let next = now.reload()?;
        if next.says_the_same(&now) {
            self.tell(&now);
            return Ok(ReloadOutcome::Same);
        }
        let new = new_errors(&now, &next);
        let notices = || -> Vec<Notice> { new.iter().map(|found| found.notice()).collect() };
        let looser = next.loosened_since(&now);
        if !looser.is_empty() && !next.governing_is_accepted() {
            let waiting: Vec<Notice> = looser.iter().map(waiting).collect();
            self.tell_also(&next, &waiting);
            return Ok(ReloadOutcome::Kept(notices().into_iter().chain(waiting).collect()));
        }
        if new.is_empty() {
            self.swap(next);
            return Ok(ReloadOutcome::Swapped);
        }
        if new.iter().any(|found| now.governs(&found.file) || next.governs(&found.file)) {
            self.tell(&next);
            return Ok(ReloadOutcome::Kept(notices()));
        }
        if rules_differ(&now, &next) {
            let notices = notices();
            self.swap(next);
            return Ok(ReloadOutcome::Without(notices));
        }
        let mixed = mixed(&now, &next, &new)?;
        Ok(match mixed.filter(|mixed| !mixed.says_the_same(&now)) {
            Some(mixed) => {
                self.swap_with_notices(mixed, world::notices(&next));
                ReloadOutcome::Partly(notices())
            }
            None => {
                self.tell(&next);
                ReloadOutcome::Kept(notices())
            }
        })
    }

    /// Says what is wrong with a workspace, whichever is in force.
    fn tell(&self, workspace: &Workspace) {
        self.tell_also(workspace, &[]);
    }

    /// The same, and something about what governs.
    fn tell_also(&self, workspace: &Workspace, more: &[Notice]) {
        let notices = world::notices(workspace);
        let notices = notices.iter().chain(more).cloned().collect();
        if self.runtime.world().notices != notices {
            self.runtime.replace_notices(notices);
        }
    }
}

/// The notice of a change that waits for a person.
fn waiting(looser: &Loosening) -> Notice {
    Notice {
        code: rules::L008.code,
        severity: "error",
        message: format!("looser than what is in force: {}", looser.what),
        file: looser.file.as_str().into(),
        line: 1,
        column: 1,
        help: Some("if that is right, `haft accept --settings`".to_owned()),
    }
}

/// The new errors of a workspace, wherever in its file an old one has moved. A contract of a new
/// file that waits for acceptance takes nothing from callers: it comes in, blocked.
fn new_errors<'w>(now: &Workspace, next: &'w Workspace) -> Vec<&'w Diagnostic> {
    fn errors(workspace: &Workspace) -> impl Iterator<Item = &Diagnostic> {
        workspace.diagnostics().iter().filter(|found| found.severity == Severity::Error)
    }
    fn breach(found: &Diagnostic) -> (&str, &str, &str) {
        (&found.file, found.code, &found.message)
    }
    let known: BTreeSet<_> = errors(now).map(breach).collect();
    let waits =
        |found: &Diagnostic| found.code == rules::L005.code && now.reading(&found.file).is_none();
    errors(next).filter(|found| !known.contains(&breach(found)) && !waits(found)).collect()
}

/// The next reading, with the old text of broken manifests and of whatever else changed and is bound to
/// one of them: no contract meets a driver that was written for another one. None where that does not
/// help.
fn mixed(
    now: &Workspace,
    next: &Workspace,
    new: &[&Diagnostic],
) -> Result<Option<Workspace>, Error> {
    let changed: BTreeSet<&str> = changed(now, next).collect();
    let mut held: BTreeSet<String> = BTreeSet::new();
    for found in new {
        match changed.get(&*found.file) {
            Some(file) => held.extend([(*file).to_owned()]),
            None => held.extend(blamed(&found.file, now, next, &changed)),
        }
    }
    loop {
        let mixed = next.holding(now, &held)?;
        let is_new = |file: &str| changed.contains(file) && !held.contains(file);
        let joined = |(one, other): (&str, &str)| {
            (held.contains(one) && is_new(other)).then(|| other.to_owned())
        };
        let more: Vec<String> = bonds(now).chain(bonds(&mixed)).filter_map(joined).collect();
        if more.is_empty() {
            let settled = SIDE_FILES.iter().all(|file| mixed.text(file) == next.text(file));
            let sound = settled && new_errors(now, &mixed).is_empty();
            return Ok(sound.then_some(mixed));
        }
        held.extend(more);
    }
}

/// Which changes are to blame for an error in a file that did not change: those of files bound to it
/// that are gone or broken, or else all of those.
fn blamed(file: &str, now: &Workspace, next: &Workspace, changed: &BTreeSet<&str>) -> Vec<String> {
    let bound = bonds(now).chain(bonds(next)).filter(|(one, _)| *one == file);
    let bound: Vec<&str> =
        bound.map(|(_, other)| other).filter(|other| changed.contains(other)).collect();
    let usable = |file: &str| next.reading(file).is_some_and(|found| found.manifest.is_some());
    let broken: Vec<&str> = bound.iter().copied().filter(|other| !usable(other)).collect();
    let blamed = if broken.is_empty() { bound } else { broken };
    blamed.into_iter().map(str::to_owned).collect()
}

/// The files of each contract and of the drivers that claim it, either way round.
fn bonds(workspace: &Workspace) -> impl Iterator<Item = (&str, &str)> {
    workspace.snapshot().entries().flat_map(|entry| {
        let tool = &*entry.contract.tool.file;
        let drivers = entry.bindings.iter().map(|binding| &*binding.driver.file);
        drivers.flat_map(move |driver| [(tool, driver), (driver, tool)])
    })
}

/// Whether a governing file changed. The lock does not count: it is checked against each contract,
/// whichever is in force.
fn rules_differ(now: &Workspace, next: &Workspace) -> bool {
    now.text(SETTINGS_FILE) != next.text(SETTINGS_FILE)
        || changed(now, next).any(|file| now.governs(file) || next.governs(file))
}

/// The manifests that came, went or say something else.
fn changed<'w>(now: &'w Workspace, next: &'w Workspace) -> impl Iterator<Item = &'w str> {
    let differs = |file: &str, reading: &Arc<Reading>, other: &Workspace| {
        !other.reading(file).is_some_and(|known| Arc::ptr_eq(known, reading))
    };
    let gone = now.readings().filter(|(file, _)| next.reading(file).is_none());
    let other = next.readings().filter(move |(file, reading)| differs(file, reading, now));
    gone.chain(other).map(|(file, _)| file.as_str())
}

impl Workspace {
    /// Whether nothing that it was read from changed.
    fn says_the_same(&self, earlier: &Workspace) -> bool {
        changed(earlier, self).next().is_none()
            && SIDE_FILES.iter().all(|file| self.text(file) == earlier.text(file))
    }
}
