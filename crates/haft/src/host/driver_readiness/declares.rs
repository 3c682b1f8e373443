//! Readiness declarations: the parts of a driver's manifest that its state depends on.

use std::collections::BTreeSet;
use std::path::Path;

use haft_contract::{AuthBlock, Driver, DriverManifest};
use haft_drivers::{Provision, WorkingFolder};
use haft_model::DriverKind;
use serde_json::Value;

use super::super::uses;

/// The declarations of one driver. Its manifest is parsed once.
pub(super) struct Declares {
    pub(super) auth: Option<AuthBlock>,
    /// Whether it declares a login flow that a person can go through.
    pub(super) has_way: bool,
    /// Its program, where it has one.
    pub(super) program: Option<Provision>,
    /// Whether it declares a version check.
    pub(super) asks_version: bool,
    /// Whether it declares a health check.
    pub(super) is_looked_at: bool,
    /// The steps of its set-up.
    pub(super) steps: Vec<String>,
    /// The secrets that each of its entries uses.
    used: Vec<Vec<String>>,
    /// The secrets of all entries together.
    all: Vec<String>,
}

impl Declares {
    pub(super) fn of(driver: &Driver, root: &Path, place: &WorkingFolder) -> Declares {
        let mut raw = driver.raw();
        let all = uses::named(&raw).into_iter().collect();
        let manifest = DriverManifest::from_json(driver.kind, &raw).unwrap_or_else(|_| {
            DriverManifest { auth: Some(AuthBlock::unreadable()), ..DriverManifest::default() }
        });
        let elsewhere = manifest.server().is_some_and(|server| server.login().is_some());
        let auth = manifest.auth.clone().or_else(|| elsewhere.then(AuthBlock::default));
        let folder = root.join(&*driver.file);
        let folder = folder.parent().unwrap_or(root).to_owned();
        let asks_version = manifest.version_check.is_some();
        let is_looked_at = manifest.health_check.is_some();
        let steps = manifest.program().map(|fields| fields.setup.as_slice()).unwrap_or_default();
        let steps = steps.iter().map(|step| step.id.clone()).collect();
        let provision = || Provision::new(manifest, folder, place.clone());
        let program = (driver.kind == DriverKind::Cli).then(provision);
        let entries = raw.get_mut("implements").map(Value::take).unwrap_or_default();
        let shared = uses::named(&raw);
        let of_entry = |entry: &Value| {
            let own: BTreeSet<String> = uses::named(entry);
            own.union(&shared).cloned().collect()
        };
        let used = entries.as_array().into_iter().flatten().map(of_entry).collect();
        let has_way = elsewhere || auth.as_ref().is_some_and(AuthBlock::has_way);
        Declares { auth, has_way, program, asks_version, is_looked_at, steps, used, all }
    }

    /// The secrets that one entry uses, or all of them.
    pub(super) fn used(&self, entry: Option<usize>) -> &[String] {
        entry.and_then(|entry| self.used.get(entry)).unwrap_or(&self.all)
    }
}
