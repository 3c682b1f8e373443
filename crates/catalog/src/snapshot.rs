//! Catalog snapshot: contracts, drivers and actions at one moment, indexed and immutable.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use haft_contract::{Action, Driver, Finding, Lock, ToolManifest, rules};
use haft_model::{DriverId, ToolId, ToolKey};

use crate::CatalogEntry;
use crate::actions::Actions;
use crate::claims::{self, Claims};
use crate::made::{self, Making};
use crate::state::DriverHost;
use crate::wire_names::{WireNames, is_wire_name};

/// The parts that a snapshot is built from.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The contracts of the workspace and the program.
    pub tools: Vec<Arc<ToolManifest>>,
    /// The drivers of the workspace and the program.
    pub drivers: Vec<Arc<Driver>>,
    /// The actions of the workspace; the standard ones are added.
    pub actions: Vec<Arc<Action>>,
    /// Ids of contracts that cannot be used, with the files that say why.
    pub unusable: HashMap<String, Arc<str>>,
    /// Contracts that come with the program and not from a file: the lock has no say in them.
    pub given: HashSet<ToolKey>,
    /// Drivers that come with the program and not from a file.
    pub given_drivers: HashSet<DriverId>,
    /// The lock file: what people accepted.
    pub lock: Arc<Lock>,
    /// Routing constraints of the workspace.
    pub routing: RoutingPolicy,
    /// The machine that drivers run on.
    pub host: DriverHost,
}

/// Routing constraints of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutingPolicy {
    /// A driver needs one of these tags; empty means none is needed.
    pub allowed_tags: Vec<String>,
    /// A driver with one of these tags is out.
    pub denied_tags: Vec<String>,
    /// A driver has to serve one of these regions; empty means any.
    pub region: Vec<String>,
    /// Whether `global` serves every region.
    pub global_matches: bool,
}

impl Default for RoutingPolicy {
    fn default() -> RoutingPolicy {
        RoutingPolicy {
            allowed_tags: Vec::new(),
            denied_tags: Vec::new(),
            region: Vec::new(),
            global_matches: true,
        }
    }
}

/// Contracts and drivers at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    entries: BTreeMap<ToolKey, Arc<CatalogEntry>>,
    /// Aliases, and ids to their highest stable major.
    names: HashMap<String, Arc<CatalogEntry>>,
    wire_names: WireNames,
    /// Names on the backends' own servers, each with the tools that it may mean.
    backend_names: HashMap<String, Vec<Arc<CatalogEntry>>>,
    findings: Vec<Finding>,
    routing: RoutingPolicy,
    host: DriverHost,
}

impl Snapshot {
    /// Checks all parts against each other. Entries of an earlier snapshot whose parts are
    /// unchanged are reused, compiled schemas included.
    pub fn build(parts: Parts, earlier: Option<&Snapshot>) -> Snapshot {
        let mut findings = Vec::new();
        let tools = claims::distinct_tools(&parts.tools, &mut findings);
        let drivers = claims::distinct_drivers(&parts.drivers, &mut findings);
        let claims = Claims::new(&drivers, &tools, &parts.unusable, &mut findings);
        let actions = Actions::new(&parts.actions);
        let mut entries = BTreeMap::new();
        for (key, tool) in &tools {
            let standing = match parts.given.contains(key) {
                true => parts.lock.standing_of_given(key),
                false => parts.lock.standing(key),
            };
            let making = Making {
                tool,
                claims: claims.of(key),
                actions: &actions,
                standing,
                given_drivers: &parts.given_drivers,
            };
            let earlier = earlier.and_then(|earlier| earlier.entries.get(key));
            entries.insert(key.clone(), made::entry(making, earlier));
        }
        let mut snapshot = Snapshot {
            names: HashMap::new(),
            wire_names: WireNames::of(entries.values().map(|entry| &*entry.contract)),
            backend_names: HashMap::new(),
            entries,
            findings,
            routing: parts.routing,
            host: parts.host,
        };
        snapshot.name_tools();
        snapshot.name_by_backends();
        snapshot.check_references();
        snapshot
    }

    /// Every contract, by id and major.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<CatalogEntry>> {
        self.entries.values()
    }

    /// The contract of a name: `id@major` exactly, an id's highest stable major, or an alias.
    pub fn find(&self, name: &str) -> Option<&Arc<CatalogEntry>> {
        match ToolKey::split(name) {
            (id, Some(major)) => self.entries.get(&ToolKey { id: ToolId::from(id), major }),
            (_, None) => self.names.get(name),
        }
    }

    /// The contract that a caller means: by a name of [`Snapshot::find`], by its wire name, or by its
    /// name on its own server where one tool alone of those that the caller may see has it.
    pub fn find_called(
        &self,
        name: &str,
        may_see: impl Fn(&CatalogEntry) -> bool,
    ) -> Option<&Arc<CatalogEntry>> {
        let wire = || self.entries.get(self.wire_names.key(name)?);
        let backend = || {
            let mut meant = self.backend_names.get(name)?.iter().filter(|entry| may_see(entry));
            meant.next().filter(|_| meant.next().is_none())
        };
        self.find(name).or_else(wire).or_else(backend)
    }

    /// The names by which clients and models call the tools.
    pub fn wire_names(&self) -> &WireNames {
        &self.wire_names
    }

    /// The name by which clients and models call a tool of this snapshot.
    pub fn wire_name(&self, key: &ToolKey) -> Arc<str> {
        self.wire_names.name(key).cloned().unwrap_or_else(|| key.to_string().into())
    }

    /// A known name as a caller would write it that wrote another: the wire name for a client that
    /// writes no dots.
    pub(crate) fn spelled_like<'n>(&'n self, written: &str, near: &'n str) -> &'n str {
        let wire = || self.wire_names.name(self.find(near)?.contract.key());
        match is_wire_name(written) && !is_wire_name(near) {
            true => wire().map_or(near, |name| name),
            false => near,
        }
    }

    /// Every name a contract can be called by, except for wire names and backends' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// Findings of the checks across manifests.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.entries.values().flat_map(|entry| &entry.findings).chain(&self.findings)
    }

    pub(crate) fn routing(&self) -> &RoutingPolicy {
        &self.routing
    }

    pub(crate) fn host(&self) -> &DriverHost {
        &self.host
    }

    fn name_tools(&mut self) {
        // Ascending majors: the last stable one to be written stays.
        for (key, entry) in &self.entries {
            let stable = !entry.contract.tool.version.contains('-');
            if stable || !self.names.contains_key(key.id.as_str()) {
                self.names.insert(key.id.to_string(), entry.clone());
            }
        }
        let mut aliases: HashMap<String, Arc<CatalogEntry>> = HashMap::new();
        for entry in self.entries.values() {
            let tool = &entry.contract.tool;
            for (index, alias) in tool.extras.aliases.iter().enumerate() {
                let taken = self.names.get(alias).or_else(|| aliases.get(alias));
                match taken.filter(|other| other.contract.key().id != tool.key.id) {
                    None => {
                        aliases.insert(alias.clone(), entry.clone());
                    }
                    Some(other) => {
                        let message = format!("`{alias}` already means `{}`", other.contract.key());
                        let place = format!("/metadata/haft/aliases/{index}");
                        let finding = Finding::new(rules::E056, &tool.file, &place, message);
                        self.findings.push(finding.help("choose another alias"));
                    }
                }
            }
        }
        // An id always means its own tool, whatever others call themselves.
        for (alias, entry) in aliases {
            self.names.entry(alias).or_insert(entry);
        }
    }

    /// Notes what a tool is called where it comes from. Of several majors, the id's own one counts.
    fn name_by_backends(&mut self) {
        for entry in self.entries.values() {
            let key = entry.contract.key();
            if self.names.get(key.id.as_str()).is_some_and(|main| main.contract.key() != key) {
                continue;
            }
            for name in entry.backend_names() {
                self.backend_names.entry(name.to_owned()).or_default().push(entry.clone());
            }
        }
    }

    /// Tools that name tools: those named should exist.
    fn check_references(&mut self) {
        let mut findings = Vec::new();
        for entry in self.entries.values() {
            let tool = &entry.contract.tool;
            let extras = &tool.extras;
            let named = [
                (extras.status.as_ref().map(|status| &status.tool), "status/tool"),
                (extras.compensation.as_ref().map(|undo| &undo.tool), "compensation/tool"),
                (extras.lifecycle.replacement.as_ref(), "lifecycle/replacement"),
            ];
            for (name, place) in named {
                if let Some(name) = name.filter(|name| self.find(name).is_none()) {
                    let pointer = format!("/metadata/haft/{place}");
                    findings.push(self.no_such_tool(rules::E054, tool, &pointer, name));
                }
            }
            for name in tool.requires.iter().flat_map(|requires| &requires.tools) {
                if self.find(name).is_none() {
                    findings.push(self.no_such_tool(rules::T048, tool, "/requires/tools", name));
                }
            }
        }
        self.findings.extend(findings);
    }

    fn no_such_tool(
        &self,
        rule: haft_contract::Rule,
        tool: &ToolManifest,
        pointer: &str,
        name: &str,
    ) -> Finding {
        let finding = Finding::new(rule, &tool.file, pointer, format!("there is no tool `{name}`"));
        match haft_contract::did_you_mean(name, self.names()) {
            Some(near) => finding.help(format!("did you mean `{near}`?")),
            None => finding,
        }
    }
}
