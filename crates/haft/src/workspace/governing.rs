//! Governing files: which files govern a workspace, whether people accepted them, and in which ways
//! they are looser than others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use haft_contract::{
    Diagnostic, Finding, Governing, Lock, Loosening, ManifestKind, ParsedManifest, Syntax,
    loosened, rules, settings,
};
use haft_model::Digest;

use super::LoadOptions;
use super::lock::write;
use super::side::{LOCK_FILE, SETTINGS_FILE};
use crate::{Error, Workspace};

/// The copy of the governing files as they were last accepted on this machine. It counts only as
/// far as the lock has its digests.
const COPY: &str = ".haft/accepted";

/// The acceptance state of the governing files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GoverningStanding {
    /// The lock says nothing of them, as one that an earlier version wrote.
    Unrecorded,
    /// They are what was accepted.
    Accepted,
    /// These are other than was accepted, and none of them lets more or asks less.
    Tighter(Vec<String>),
    /// These are other than was accepted, in these ways looser; in none where what was accepted is not
    /// at hand to compare with.
    Looser(Vec<String>, Vec<Loosening>),
}

impl Workspace {
    /// Whether a file governs: it says what others may do, or what they mean. Every file does
    /// except contracts, drivers and the lock, which is checked against each contract, whichever is
    /// in force.
    pub(crate) fn governs(&self, file: &str) -> bool {
        let manifest = self.reading(file).and_then(|reading| reading.manifest.as_ref());
        match ManifestKind::of(file) {
            Some(ManifestKind::Tool | ManifestKind::Driver | ManifestKind::Cli) => false,
            Some(ManifestKind::Json) => matches!(manifest, Some(ParsedManifest::Interface(_))),
            Some(
                ManifestKind::Action
                | ManifestKind::Policy
                | ManifestKind::Governance
                | ManifestKind::Secrets
                | ManifestKind::Auth
                | ManifestKind::Runner
                | ManifestKind::Sandbox,
            )
            | None => true,
        }
    }

    /// The digest of each governing file. Where there is no haft.toml, that is one which says nothing.
    fn governing_files(&self) -> BTreeMap<String, Digest> {
        let governing = self.readings().filter(|(file, _)| self.governs(file));
        let mut files: BTreeMap<String, Digest> = governing
            .map(|(file, reading)| {
                (file.clone(), Digest::of_bytes(reading.source.text().as_bytes()))
            })
            .collect();
        files.insert(SETTINGS_FILE.to_owned(), settings::digest(&self.settings.source));
        files.extend(self.hook_files().into_iter().filter_map(|file| {
            let bytes = fs::read(self.root().join(&file)).ok()?;
            Some((file, Digest::of_bytes(&bytes)))
        }));
        files
    }

    /// Every way in which what governs is looser than in an earlier reading.
    pub fn loosened_since(&self, earlier: &Workspace) -> Vec<Loosening> {
        loosened(&earlier.governing(), &self.governing())
    }

    fn governing(&self) -> Governing<'_> {
        let rulebook = self.rulebook();
        Governing {
            settings: self.settings(),
            policies: &rulebook.policies,
            policy_rules: &rulebook.rules,
            governance: &rulebook.governance,
            complete: rulebook.complete && self.settings_are_sound(),
            files: self.governing_files(),
        }
    }

    /// Whether the governing files are exactly those that people accepted.
    pub(crate) fn governing_is_accepted(&self) -> bool {
        let lock = &self.lock.value;
        !lock.damaged && lock.governing.as_ref() == Some(&self.governing_files())
    }

    /// The acceptance state of the governing files.
    pub fn governing_standing(&self) -> GoverningStanding {
        let files = self.governing_files();
        let Some(accepted) = &self.lock.value.governing else {
            return GoverningStanding::Unrecorded;
        };
        let all: BTreeSet<&String> = files.keys().chain(accepted.keys()).collect();
        let other = all.into_iter().filter(|file| files.get(*file) != accepted.get(*file));
        let other: Vec<String> = other.cloned().collect();
        if other.is_empty() {
            return GoverningStanding::Accepted;
        }
        let copy = Workspace::load(self.root().join(COPY), LoadOptions::default());
        match copy.ok().filter(|copy| copy.governing_files() == *accepted) {
            None => GoverningStanding::Looser(other, Vec::new()),
            Some(copy) => match self.loosened_since(&copy) {
                none if none.is_empty() => GoverningStanding::Tighter(other),
                looser => GoverningStanding::Looser(other, looser),
            },
        }
    }

    /// The diagnostics of governing files that differ from what was accepted.
    pub(super) fn unaccepted_governing(&self) -> Vec<Diagnostic> {
        let Some(accepted) = &self.lock.value.governing else { return Vec::new() };
        let files = self.governing_files();
        let finding = |file: &str, message: &str| {
            Finding::new(rules::L007, &file.into(), "", message)
                .help("if that is right, `haft accept --settings`")
        };
        let other = files.iter().filter(|(file, digest)| accepted.get(*file) != Some(digest));
        let other = other.filter_map(|(file, _)| {
            if ManifestKind::of(file).is_none() && file != SETTINGS_FILE {
                let message =
                    format!("`{file}`, which a hook executes, is other than was accepted");
                let settings = &self.settings.source;
                return Some(finding(SETTINGS_FILE, &message).locate(settings, Syntax::Toml));
            }
            let (source, syntax) = match self.reading(file) {
                Some(reading) => (&reading.source, ManifestKind::of(file)?.syntax()),
                None => (&self.settings.source, Syntax::Toml),
            };
            Some(finding(file, "it is other than was accepted").locate(source, syntax))
        });
        let gone = accepted.keys().filter(|file| !files.contains_key(*file)).map(|file| {
            let message = format!("`{file}` was accepted and is gone");
            finding(LOCK_FILE, &message).locate(&self.lock.source, Syntax::Toml)
        });
        other.chain(gone).collect()
    }

    /// Accepts the governing files as they are now. Gives those that are other than was accepted
    /// before.
    pub fn accept_governing(&self) -> Result<Vec<String>, Error> {
        if self.lock.value.damaged {
            return Err(Error::DamagedLock);
        }
        let mut lock = Lock::clone(&self.lock.value);
        let before = lock.governing.clone().unwrap_or_default();
        self.put_governing(&mut lock);
        write(self.root(), &lock)?;
        let files = lock.governing.unwrap_or_default();
        let all: BTreeSet<&String> = files.keys().chain(before.keys()).collect();
        let other = all.into_iter().filter(|file| files.get(*file) != before.get(*file));
        Ok(other.cloned().collect())
    }

    /// Puts the governing files into a lock as they are now.
    pub(super) fn put_governing(&self, lock: &mut Lock) {
        lock.governing = Some(self.governing_files());
        self.keep_copy();
    }

    /// Puts those governing files into a lock that a command wrote. Where the lock has none yet, it
    /// gets them only if the command wrote them all: one that is not named would count as other.
    pub(super) fn put_written(&self, written: &[&str], lock: &mut Lock) {
        let files = self.governing_files();
        let is_written = |file: &String| written.contains(&file.as_str());
        match &mut lock.governing {
            Some(accepted) => {
                accepted.extend(files.into_iter().filter(|(file, _)| is_written(file)));
            }
            None if files.keys().all(is_written) => lock.governing = Some(files),
            None => return,
        }
        if lock.governing.as_ref() == Some(&self.governing_files()) {
            self.keep_copy();
        }
    }

    /// Keeps the governing files, so that a later reading can be compared with them. Where that does
    /// not work, a later change counts as looser.
    fn keep_copy(&self) {
        let root = self.root().join(COPY);
        let _ = fs::remove_dir_all(&root);
        let put = |path: PathBuf, text: &[u8]| -> std::io::Result<()> {
            fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            fs::write(path, text)
        };
        let hooks = self.hook_files();
        for file in self.governing_files().keys() {
            let bytes = match (self.text(file), hooks.contains(file)) {
                (Some(text), _) => text.as_bytes().to_owned(),
                (None, true) => fs::read(self.root().join(file)).unwrap_or_default(),
                (None, false) => Vec::new(),
            };
            let _ = put(root.join(file), &bytes);
        }
    }
}
