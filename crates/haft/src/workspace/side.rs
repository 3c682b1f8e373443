//! Side files: reads `haft.toml` and `haft.lock`, which lie beside the manifests.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::settings::{self, Settings};
use haft_contract::{Diagnostic, Lock, Report, Source, rules};
use haft_sandbox::Suspects;

use crate::Error;
use crate::files::{self, Stamp};

/// A lock has an entry for every contract, so it may be larger than any one manifest.
const LARGEST: u64 = 64 << 20;

/// Why a file that was replaced is not read before the program is gone that could write it since.
const REPLACED: &str =
    "it was replaced while a program runs that may write the workspace: end that program first";

/// One of the two: what it is called and how it is read.
pub(super) struct SideFile<T: 'static> {
    name: &'static str,
    read: fn(&Source) -> (T, Vec<Diagnostic>),
    /// The value for a file that exists and cannot be read.
    unreadable: fn() -> T,
}

/// The name of the settings file.
pub(crate) use haft_model::governing::SETTINGS_FILE;

/// The name of the lock file.
pub(super) use haft_model::governing::LOCK_FILE;

/// The files that a workspace is read from and that are no manifests.
pub(crate) const SIDE_FILES: [&str; 2] = [SETTINGS_FILE, LOCK_FILE];

/// The settings.
pub(super) const SETTINGS: SideFile<Settings> =
    SideFile { name: SETTINGS_FILE, read: settings::read, unreadable: Settings::default };

/// The lock.
pub(super) const LOCK: SideFile<Lock> =
    SideFile { name: LOCK_FILE, read: Lock::read, unreadable: Lock::unreadable };

/// The sightings of upstream tools on this machine, which people may accept into the lock.
pub(super) const SIGHTED: SideFile<Lock> =
    SideFile { name: ".haft/upstream.lock", read: Lock::read, unreadable: Lock::unreadable };

/// The reading of one side file.
#[derive(Clone)]
pub(super) struct Side<T> {
    pub(super) value: Arc<T>,
    pub(super) source: Source,
    pub(super) diagnostics: Vec<Diagnostic>,
    stamp: Option<Stamp>,
}

impl<T: fmt::Debug> fmt::Debug for Side<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Side").field("value", &self.value).finish_non_exhaustive()
    }
}

impl<T: Default> SideFile<T> {
    /// The path of the file in a workspace.
    pub(super) fn path(&self, root: &Path) -> PathBuf {
        root.join(self.name)
    }

    /// Reads the file, unless a confined run in flight may have made it: then the earlier reading
    /// stays.
    pub(super) fn load_trusted(
        &self,
        root: &Path,
        earlier: Option<&Side<T>>,
        suspects: &Suspects,
    ) -> Result<Side<T>, Error>
    where
        Side<T>: Clone,
    {
        if suspects.contains(self.name) {
            if earlier.is_none() && suspects.was_replaced(self.name) {
                return Ok(self.refused(&rules::L003, REPLACED));
            }
            let absent = || self.side(T::default(), Source::new(self.name, ""), Vec::new(), None);
            return Ok(earlier.cloned().unwrap_or_else(absent));
        }
        self.load(root, earlier)
    }

    /// Reads the file, or takes over what an earlier reading of the same file gave.
    pub(super) fn load(&self, root: &Path, earlier: Option<&Side<T>>) -> Result<Side<T>, Error>
    where
        Side<T>: Clone,
    {
        let path = self.path(root);
        if files::is_link_outside(root, &path) {
            return Ok(self.refused(&rules::Y010, files::LEAVES));
        }
        let Some(stamp) = files::stamp(&path) else {
            return Ok(self.side(T::default(), Source::new(self.name, ""), Vec::new(), None));
        };
        if !path.is_file() {
            return Ok(self.refused(&rules::Y011, "this is not a regular file"));
        }
        if let Some(earlier) = earlier.filter(|earlier| earlier.stamp == Some(stamp)) {
            return Ok(earlier.clone());
        }
        let bytes = files::read_at_most(&path, LARGEST)
            .map_err(|cause| Error::Unreadable { path, cause })?;
        let (source, report) = Source::from_bytes(self.name, bytes, LARGEST);
        let (value, found) = if report.has_errors() {
            ((self.unreadable)(), report.into_diagnostics())
        } else {
            (self.read)(&source)
        };
        Ok(self.side(value, source, found, Some(stamp)))
    }

    fn refused(&self, rule: &haft_contract::Rule, message: &str) -> Side<T> {
        let source = Source::new(self.name, "");
        let mut report = Report::new(&source);
        report.add(rule, 0..0, message);
        self.side((self.unreadable)(), source, report.into_diagnostics(), None)
    }

    fn side(
        &self,
        value: T,
        source: Source,
        diagnostics: Vec<Diagnostic>,
        stamp: Option<Stamp>,
    ) -> Side<T> {
        Side { value: Arc::new(value), source, diagnostics, stamp }
    }
}
