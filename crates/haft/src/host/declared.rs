//! Declared drivers: builds drivers from manifests alone. A reload reuses unchanged drivers
//! together with their processes and connections.

use std::collections::HashMap;
use std::sync::Arc;

use haft_catalog::CatalogEntry;
use haft_contract::Contract;
use haft_driver::Driver;
use haft_drivers::mcp::Witness;
use haft_drivers::{Cli, Http, Mcp, Sdk, WorkingFolder};
use haft_model::{DriverId, DriverKind, Timestamp};

use super::{HostParts, hooks};
use crate::Workspace;
use crate::workspace::upstream;

/// The drivers that some contract is served by and that a manifest describes whole.
pub(super) struct DeclaredDrivers {
    place: WorkingFolder,
    witness: Witness,
    made: HashMap<DriverId, BuiltDriver>,
}

/// A driver, what it was made of, and itself.
struct BuiltDriver {
    of: Serving,
    driver: Arc<dyn Driver>,
}

/// A manifest, and which of its entries serves which contract.
#[derive(Clone)]
struct Serving {
    manifest: Arc<haft_contract::Driver>,
    serves: Vec<(Arc<Contract>, usize)>,
}

impl DeclaredDrivers {
    /// The drivers of a workspace. Those of an earlier one that are made of the same are taken over.
    pub(super) fn of(
        workspace: &Workspace,
        given: &HostParts,
        earlier: Option<&DeclaredDrivers>,
    ) -> DeclaredDrivers {
        let place = hooks::place(workspace, given);
        // Another place is another sandbox, or another secret to keep from programs.
        let earlier = earlier.filter(|earlier| earlier.place.is(&place));
        let mut declared = DeclaredDrivers {
            place: earlier.map_or(place, |earlier| earlier.place.clone()),
            witness: earlier.map_or_else(
                || upstream::witness(workspace.root()),
                |earlier| earlier.witness.clone(),
            ),
            made: HashMap::new(),
        };
        for (id, of) in serving(workspace.snapshot().entries()) {
            let before = earlier.and_then(|earlier| earlier.made.get(&id));
            let driver = match before.filter(|before| before.of.is(&of)) {
                Some(before) => Some(before.driver.clone()),
                None => declared.make(of.clone(), given),
            };
            declared.made.extend(driver.map(|driver| (id, BuiltDriver { of, driver })));
        }
        declared
    }

    /// The working folder of their programs.
    pub(super) fn place(&self) -> &WorkingFolder {
        &self.place
    }

    /// Each of them, by its id.
    pub(super) fn drivers(&self) -> HashMap<DriverId, Arc<dyn Driver>> {
        self.made.iter().map(|(id, made)| (id.clone(), made.driver.clone())).collect()
    }

    /// Builds the driver of its kind; a driver of an unsupported kind is absent. Its manifest is
    /// parsed on first use, because most drivers of a large workspace are never called.
    fn make(
        &self,
        Serving { manifest, serves }: Serving,
        given: &HostParts,
    ) -> Option<Arc<dyn Driver>> {
        let (kind, place) = (manifest.kind, self.place.clone());
        let read = move || haft_drivers::DeclaredEntries {
            manifest: manifest.manifest(),
            serves: serves
                .iter()
                .map(|(contract, entry)| (contract.key().clone(), *entry))
                .collect(),
        };
        match kind {
            DriverKind::Http => {
                let http = Http::new(read, given.addresses.clone(), Timestamp::now);
                Some(Arc::new(http.with_files_of(place.root).at_home(place.variable)))
            }
            DriverKind::Cli => {
                let cli = Cli::new(read, place).reading_yaml(haft_contract::source::yaml_value);
                Some(Arc::new(cli))
            }
            DriverKind::Mcp => {
                Some(Arc::new(Mcp::new(read, place).witnessed_by(self.witness.clone())))
            }
            DriverKind::Sdk => Some(Arc::new(Sdk::new(read, place))),
            DriverKind::Builtin => None,
        }
    }
}

/// The contracts that each driver serves, in their order. A driver that no call may use is not
/// built, so that nothing else reaches its programs and backends either.
fn serving<'a>(entries: impl Iterator<Item = &'a Arc<CatalogEntry>>) -> HashMap<DriverId, Serving> {
    let mut found: HashMap<DriverId, Serving> = HashMap::new();
    for entry in entries {
        for binding in entry.callable() {
            let manifest = &binding.driver;
            let serving = found
                .entry(manifest.id.clone())
                .or_insert_with(|| Serving { manifest: manifest.clone(), serves: Vec::new() });
            serving.serves.push((entry.contract.clone(), binding.entry));
        }
    }
    found
}

impl Serving {
    /// Whether both were read from the same texts. A text that did not change is not read again.
    fn is(&self, other: &Serving) -> bool {
        Arc::ptr_eq(&self.manifest, &other.manifest)
            && self.serves.len() == other.serves.len()
            && self
                .serves
                .iter()
                .zip(&other.serves)
                .all(|((one, at), (two, there))| at == there && one.is_read_from_the_same(two))
    }
}
