//! Workspace: its files read and its manifests checked against each other, at one moment.

mod examples;
mod executed;
mod governing;
mod lock;
mod parts;
mod program_manifests;
mod rulebook;
mod side;
pub(crate) mod upstream;

pub use governing::GoverningStanding;
pub use rulebook::Rulebook;
pub(crate) use side::{SETTINGS_FILE, SIDE_FILES};

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_catalog::Snapshot;
use haft_contract::settings::Settings;
use haft_contract::{Diagnostic, Driver, Lock, Reading, Severity, Source, Syntax};
use haft_model::DriverId;
use haft_sandbox::{Loading, Suspects};

use crate::Error;
use crate::define::{Definitions, DriverHandle};
use crate::files::{self, CachedManifest};
use crate::published_schemas::PublishedSchemas;
use crate::workspace::side::Side;

/// Options for loading a workspace.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// A folder of the schemas that the AIPs publish; what they refuse becomes an error.
    pub published_schemas: Option<PathBuf>,
    /// Contracts and drivers that the program defines.
    pub definitions: Definitions,
}

/// A workspace at one moment. Reloading makes a new one.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    options: LoadOptions,
    known: HashMap<String, CachedManifest>,
    settings: Side<Settings>,
    lock: Side<Lock>,
    rulebook: Rulebook,
    snapshot: Arc<Snapshot>,
    code: Vec<DriverHandle>,
    diagnostics: Vec<Diagnostic>,
}

/// A contract that cannot be used, as far as it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenContract {
    /// The id it gives itself, or its folder.
    pub id: String,
    /// The file's path from the workspace's root.
    pub file: String,
    /// The first thing that is wrong with it.
    pub reason: String,
}

impl Workspace {
    /// Reads a workspace. What is wrong with its manifests is in [`Workspace::diagnostics`], and
    /// whatever is right can be used.
    pub fn load(root: impl AsRef<Path>, options: LoadOptions) -> Result<Workspace, Error> {
        Workspace::read(root.as_ref(), options, None)
    }

    /// Reads it again. Unchanged files are not read, and contracts with unchanged parts keep their
    /// cached work.
    pub fn reload(&self) -> Result<Workspace, Error> {
        Workspace::read(&self.root, self.options.clone(), Some(self))
    }

    /// Reads some files again, given from the workspace's root, and trusts the rest to be
    /// unchanged: for a watcher that knows what changed.
    pub fn reload_files(&self, changed: &[&str]) -> Result<Workspace, Error> {
        let loading = Loading::begin(&self.root).map_err(|cause| no_turn(&self.root, cause))?;
        let suspects = loading.suspects();
        let mut known = self.known.clone();
        for file in changed.iter().filter(|file| !suspects.contains(files::first_name(file))) {
            match files::read_file(&self.root, file) {
                Some(manifest) => known.insert((*file).to_owned(), manifest),
                None => known.remove(*file),
            };
        }
        Workspace::build(&self.root, self.options.clone(), known, Some(self), suspects)
    }

    /// Reads it again, with some files as an earlier reading had them.
    pub(crate) fn holding(
        &self,
        earlier: &Workspace,
        held: &BTreeSet<String>,
    ) -> Result<Workspace, Error> {
        let loading = Loading::begin(&self.root).map_err(|cause| no_turn(&self.root, cause))?;
        let mut known = self.known.clone();
        for file in held {
            match earlier.known.get(file) {
                Some(manifest) => known.insert(file.clone(), manifest.clone()),
                None => known.remove(file),
            };
        }
        let options = self.options.clone();
        Workspace::build(&self.root, options, known, Some(earlier), loading.suspects())
    }

    fn read(
        root: &Path,
        options: LoadOptions,
        earlier: Option<&Workspace>,
    ) -> Result<Workspace, Error> {
        if !root.join("haft.toml").is_file() && !root.join(".tools").is_dir() {
            return Err(Error::NoWorkspace { folder: root.to_owned() });
        }
        let none = HashMap::new();
        let known = earlier.map_or(&none, |earlier| &earlier.known);
        loop {
            let loading = Loading::begin(root).map_err(|cause| no_turn(root, cause))?;
            let suspects = loading.suspects();
            let read = files::read_all(root, known, suspects);
            let built = Workspace::build(root, options.clone(), read, earlier, suspects);
            // The first run of a workspace may have begun meanwhile, and nothing told it to wait.
            if loading.holds() {
                return built;
            }
        }
    }

    /// Checks the manifests against each other.
    fn build(
        root: &Path,
        options: LoadOptions,
        known: HashMap<String, CachedManifest>,
        earlier: Option<&Workspace>,
        suspects: &Suspects,
    ) -> Result<Workspace, Error> {
        let settings = earlier.map(|earlier| &earlier.settings);
        let settings = side::SETTINGS.load_trusted(root, settings, suspects)?;
        let lock = side::LOCK.load_trusted(root, earlier.map(|earlier| &earlier.lock), suspects)?;
        let mut diagnostics = [settings.diagnostics.as_slice(), &lock.diagnostics].concat();
        let parts::WorkspaceParts { parts, mut findings, code } =
            parts::gather(root, &known, &lock.value, &settings.value, &options);
        let (rulebook, governing) = rulebook::gather(root, &known, &mut diagnostics);
        let snapshot = Snapshot::build(parts, earlier.map(|earlier| &*earlier.snapshot));
        findings.extend(governing);
        findings.extend(rulebook.unknown_policies(&snapshot));
        let examples = examples::check(&settings.value, &snapshot);
        diagnostics
            .extend(examples.iter().map(|finding| finding.locate(&settings.source, Syntax::Toml)));
        parts::report(&known, &options.definitions, &findings, &snapshot, &mut diagnostics);
        if let Some(folder) = &options.published_schemas {
            let schemas = PublishedSchemas::read(folder)?;
            diagnostics.extend(known.values().flat_map(|known| schemas.check(&known.reading)));
        }
        let root = root.to_owned();
        let snapshot = Arc::new(snapshot);
        let mut workspace = Workspace {
            root,
            options,
            known,
            settings,
            lock,
            rulebook,
            snapshot,
            code,
            diagnostics,
        };
        workspace.diagnostics.extend(workspace.unaccepted_governing());
        workspace
            .diagnostics
            .sort_by(|a, b| (&a.file, a.span.start, a.code).cmp(&(&b.file, b.span.start, b.code)));
        Ok(workspace)
    }

    /// The workspace's root folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its contracts and drivers.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Every driver that claims a contract, by its id.
    pub fn drivers(&self) -> Vec<Arc<Driver>> {
        let claims = self.snapshot.entries().flat_map(|entry| &entry.bindings);
        let drivers = claims.map(|claim| (claim.driver.id.clone(), claim.driver.clone()));
        drivers.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// Every driver that a call may go by, by its id: those that were accepted.
    pub(crate) fn callable_drivers(&self) -> Vec<Arc<Driver>> {
        let claims = self.snapshot.entries().flat_map(|entry| entry.callable());
        let drivers = claims.map(|claim| (claim.driver.id.clone(), claim.driver.clone()));
        drivers.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// The same, to keep beyond the workspace.
    pub fn shared_snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.clone()
    }

    /// Whether its haft.toml could be read without a mistake. One that could not may lack a rule
    /// that says no.
    pub fn settings_are_sound(&self) -> bool {
        let wrong = |found: &Diagnostic| {
            found.severity == Severity::Error && &*found.file == side::SETTINGS_FILE
        };
        !self.diagnostics.iter().any(wrong)
    }

    /// The implementations of drivers that the program defines, by their ids.
    pub fn code_drivers(&self) -> HashMap<DriverId, Arc<dyn haft_driver::Driver>> {
        self.code.iter().map(|driver| (driver.id().clone(), driver.code().clone())).collect()
    }

    /// The settings of haft.toml; defaults replace what cannot be read.
    pub fn settings(&self) -> &Settings {
        &self.settings.value
    }

    /// Its policies, rules, governance and inventory of secrets.
    pub fn rulebook(&self) -> &Rulebook {
        &self.rulebook
    }

    /// The diagnostics of its manifests, by file and place.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Whether anything keeps a manifest from being used as its author meant.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// How many manifests were read.
    pub fn manifest_count(&self) -> usize {
        self.known.len()
    }

    /// The text of a manifest, or what stands in for it, to show a diagnostic in.
    pub fn text(&self, file: &str) -> Option<&str> {
        let aside = || {
            let sources = [&self.settings.source, &self.lock.source];
            sources.into_iter().find(|source| &**source.file() == file)
        };
        let written = self.known.get(file).map(|known| &known.reading.source).or_else(aside);
        written.or_else(|| self.options.definitions.source(file)).map(Source::text)
    }

    /// The readings of all manifests, by file.
    pub(crate) fn readings(&self) -> impl ExactSizeIterator<Item = (&String, &Arc<Reading>)> {
        self.known.iter().map(|(file, known)| (file, &known.reading))
    }

    /// The reading of one manifest.
    pub(crate) fn reading(&self, file: &str) -> Option<&Arc<Reading>> {
        self.known.get(file).map(|known| &known.reading)
    }

    /// The contracts that cannot be used.
    pub fn broken(&self) -> Vec<BrokenContract> {
        let mut broken: Vec<BrokenContract> =
            self.known.iter().filter_map(|(file, known)| parts::broken(file, known)).collect();
        broken.sort_by(|a, b| (&a.id, &a.file).cmp(&(&b.id, &b.file)));
        broken
    }
}

fn no_turn(root: &Path, cause: std::io::Error) -> Error {
    Error::Unreadable { path: root.join(".haft/runs"), cause }
}
