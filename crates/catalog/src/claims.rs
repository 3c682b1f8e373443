//! Claims index: which drivers claim which contracts.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use haft_contract::{Driver, Finding, Implements, ToolManifest, rules};
use haft_model::ToolKey;

use crate::bind::is_bundle;
use crate::reference;

/// A driver and which of its entries claims a contract.
pub(crate) type Claim = (Arc<Driver>, usize);

/// The claims on each contract.
pub(crate) struct Claims(HashMap<ToolKey, Vec<Claim>>);

impl Claims {
    /// The claims on one contract.
    pub(crate) fn of(&self, key: &ToolKey) -> &[Claim] {
        self.0.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Sorts drivers by what they claim: all majors of an id that a range contains, or the highest
    /// one, so that a range that misses is explained there.
    pub(crate) fn new(
        drivers: &[Arc<Driver>],
        tools: &BTreeMap<ToolKey, Arc<ToolManifest>>,
        unusable: &HashMap<String, Arc<str>>,
        findings: &mut Vec<Finding>,
    ) -> Claims {
        let names = ContractNames::new(tools);
        let mut claims: HashMap<ToolKey, Vec<Claim>> = HashMap::new();
        for driver in drivers {
            for (index, entry) in driver.implements.iter().enumerate() {
                let named = names.resolve(&entry.tool, &driver.file);
                if named.is_empty() {
                    findings.push(names.unknown(driver, entry, unusable));
                    continue;
                }
                let mut fitting: Vec<_> =
                    named.iter().filter(|tool| entry.range.contains(&tool.version)).collect();
                if fitting.is_empty() {
                    fitting.extend(named.last());
                }
                for tool in fitting {
                    claims.entry(tool.key.clone()).or_default().push((driver.clone(), index));
                }
            }
        }
        Claims(claims)
    }
}

/// Contracts by every name a driver can use.
struct ContractNames<'t> {
    by_id: HashMap<&'t str, Vec<&'t Arc<ToolManifest>>>,
    by_file: HashMap<&'t str, &'t Arc<ToolManifest>>,
}

impl<'t> ContractNames<'t> {
    fn new(tools: &'t BTreeMap<ToolKey, Arc<ToolManifest>>) -> ContractNames<'t> {
        let mut names = ContractNames { by_id: HashMap::new(), by_file: HashMap::new() };
        for tool in tools.values() {
            names.by_id.entry(tool.key.id.as_str()).or_default().push(tool);
            names.by_file.insert(&tool.file, tool);
        }
        names
    }

    /// The contracts that a reference means: a file's one, or every major of an id.
    fn resolve(&self, name: &str, holder: &str) -> Vec<&'t Arc<ToolManifest>> {
        if !reference::is_path(name) {
            return self.by_id.get(name).cloned().unwrap_or_default();
        }
        let paths = reference::paths(name, holder, "TOOL.md");
        let found = paths.iter().find_map(|path| self.by_file.get(path.as_str()));
        found.map(|tool| vec![*tool]).unwrap_or_default()
    }

    fn unknown(
        &self,
        driver: &Driver,
        entry: &Implements,
        unusable: &HashMap<String, Arc<str>>,
    ) -> Finding {
        let name = &entry.tool;
        let rule = if is_bundle(driver) { rules::C060 } else { rules::D050 };
        let place = format!("{}/tool", entry.place);
        let add = |message: String| Finding::new(rule, &driver.file, &place, message);
        let paths = reference::paths(name, &driver.file, "TOOL.md");
        let broken = unusable
            .get(name)
            .or_else(|| unusable.values().find(|file| paths.iter().any(|path| **path == ***file)));
        if let Some(file) = broken {
            return add(format!("`{name}` cannot be used")).help(format!("mend {file} first"));
        }
        let finding = add(format!("there is no tool `{name}`"));
        match haft_contract::did_you_mean(name, self.by_id.keys().copied()) {
            Some(near) => finding.help(format!("did you mean `{near}`?")),
            None => finding.help("name a contract by its id or by the path of its TOOL.md"),
        }
    }
}

/// One contract per id and major; the first file by name keeps the place.
pub(crate) fn distinct_tools(
    tools: &[Arc<ToolManifest>],
    findings: &mut Vec<Finding>,
) -> BTreeMap<ToolKey, Arc<ToolManifest>> {
    let mut distinct: BTreeMap<ToolKey, Arc<ToolManifest>> = BTreeMap::new();
    for tool in tools {
        match distinct.get(&tool.key) {
            None => {
                distinct.insert(tool.key.clone(), tool.clone());
            }
            Some(first) => findings.push(
                Finding::new(
                    rules::T049,
                    &tool.file,
                    "/id",
                    format!("`{}` is already defined in {}", tool.key, first.file),
                )
                .help("give it another id, or another major version"),
            ),
        }
    }
    distinct
}

/// One driver per id; the first file by name keeps the place.
pub(crate) fn distinct_drivers(
    drivers: &[Arc<Driver>],
    findings: &mut Vec<Finding>,
) -> Vec<Arc<Driver>> {
    let mut seen: HashMap<&str, &Arc<Driver>> = HashMap::new();
    let mut distinct = Vec::with_capacity(drivers.len());
    for driver in drivers {
        match seen.get(driver.id.as_str()) {
            None => {
                seen.insert(driver.id.as_str(), driver);
                distinct.push(driver.clone());
            }
            Some(first) => findings.push(
                Finding::new(
                    rules::D045,
                    &driver.file,
                    "/id",
                    format!("`{}` is already defined in {}", driver.id, first.file),
                )
                .help("give it another id"),
            ),
        }
    }
    distinct
}
