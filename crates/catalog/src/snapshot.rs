//! The snapshot: everything that is known at one moment, indexed and never changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use haft_contract::{
    Accepted, Action, Contract, Driver, Finding, Implements, Lock, Tool, inherit, rules,
};
use haft_model::{ToolId, ToolKey};

use crate::actions::Actions;
use crate::bind::{bind, is_bundle};
use crate::state::{DriverStates, Host};
use crate::{Block, Entry, reference};

/// What a snapshot is made of.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The contracts.
    pub tools: Vec<Arc<Tool>>,
    /// The drivers.
    pub drivers: Vec<Arc<Driver>>,
    /// The actions.
    pub actions: Vec<Arc<Action>>,
    /// What people accepted.
    pub lock: Lock,
    /// What the workspace allows drivers to be.
    pub routing: RoutingPolicy,
    /// What is known of drivers.
    pub states: DriverStates,
    /// The machine.
    pub host: Host,
}

/// What the workspace allows drivers to be.
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
    entries: BTreeMap<ToolKey, Arc<Entry>>,
    /// Aliases, and ids to their highest stable major.
    names: HashMap<String, ToolKey>,
    findings: Vec<Finding>,
    routing: RoutingPolicy,
    states: DriverStates,
    host: Host,
}

impl Snapshot {
    /// Holds all parts against each other. Entries of an earlier snapshot whose parts are the same
    /// are taken over as they are, compiled schemas included.
    pub fn build(parts: Parts, earlier: Option<&Snapshot>) -> Snapshot {
        let mut findings = Vec::new();
        let tools = distinct_tools(&parts.tools, &mut findings);
        let drivers = distinct_drivers(&parts.drivers, &mut findings);
        let claims = claims(&drivers, &tools, &mut findings);
        let actions = Actions::new(&parts.actions);
        let mut entries = BTreeMap::new();
        for (key, tool) in &tools {
            let claims = claims.get(key).map(Vec::as_slice).unwrap_or_default();
            let accepted = parts.lock.tools.get(&key.to_string());
            let entry =
                entry(tool, claims, &actions, accepted, earlier.and_then(|e| e.entries.get(key)));
            entries.insert(key.clone(), entry);
        }
        let mut snapshot = Snapshot {
            names: HashMap::new(),
            entries,
            findings,
            routing: parts.routing,
            states: parts.states,
            host: parts.host,
        };
        snapshot.name_tools();
        snapshot.check_references();
        snapshot
    }

    /// Every contract, by id and major.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    /// The contract of a name: `id@major` exactly, an id's highest stable major, or an alias.
    pub fn find(&self, name: &str) -> Option<&Arc<Entry>> {
        let (id, major) = ToolKey::split(name);
        let key = match major {
            Some(major) => ToolKey { id: ToolId::from(id), major },
            None => self.names.get(name)?.clone(),
        };
        self.entries.get(&key)
    }

    /// Every name a contract can be called by.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// What holding manifests against each other brought up.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.entries.values().flat_map(|entry| &entry.findings).chain(&self.findings)
    }

    pub(crate) fn routing(&self) -> &RoutingPolicy {
        &self.routing
    }

    pub(crate) fn states(&self) -> &DriverStates {
        &self.states
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    fn name_tools(&mut self) {
        // Ascending majors: the last stable one to be written stays.
        for (key, entry) in &self.entries {
            let stable = !entry.contract.tool.version.contains('-');
            let id = key.id.to_string();
            if stable || !self.names.contains_key(&id) {
                self.names.insert(id, key.clone());
            }
        }
        let ids: HashMap<String, ToolKey> = self.names.clone();
        for (key, entry) in &self.entries {
            let tool = &entry.contract.tool;
            for (index, alias) in tool.extras.aliases.iter().enumerate() {
                let taken = ids.get(alias).or_else(|| self.names.get(alias));
                match taken.filter(|other| other.id != key.id) {
                    None => {
                        self.names.insert(alias.clone(), key.clone());
                    }
                    Some(other) => self.findings.push(
                        Finding::new(
                            rules::E056,
                            &tool.file,
                            &format!("/metadata/haft/aliases/{index}"),
                            format!("`{alias}` already means `{other}`"),
                        )
                        .help("choose another alias"),
                    ),
                }
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
        tool: &Tool,
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

/// One contract per id and major; the first file by name keeps the place.
fn distinct_tools(
    tools: &[Arc<Tool>],
    findings: &mut Vec<Finding>,
) -> BTreeMap<ToolKey, Arc<Tool>> {
    let mut distinct: BTreeMap<ToolKey, Arc<Tool>> = BTreeMap::new();
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

fn distinct_drivers(drivers: &[Arc<Driver>], findings: &mut Vec<Finding>) -> Vec<Arc<Driver>> {
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

type Claims = HashMap<ToolKey, Vec<(Arc<Driver>, usize)>>;

/// Which entries of which drivers claim which contract: all majors of an id that a range contains,
/// or the id's only candidate so that a range that misses is explained there.
fn claims(
    drivers: &[Arc<Driver>],
    tools: &BTreeMap<ToolKey, Arc<Tool>>,
    findings: &mut Vec<Finding>,
) -> Claims {
    let mut by_id: HashMap<&str, Vec<&Arc<Tool>>> = HashMap::new();
    let mut by_file: HashMap<&str, &Arc<Tool>> = HashMap::new();
    for tool in tools.values() {
        by_id.entry(tool.key.id.as_str()).or_default().push(tool);
        by_file.insert(&tool.file, tool);
    }
    let mut claims = Claims::new();
    for driver in drivers {
        for (index, entry) in driver.implements.iter().enumerate() {
            let named = named_tools(&entry.tool, &driver.file, &by_id, &by_file);
            if named.is_empty() {
                findings.push(unknown_tool(driver, entry, by_id.keys().copied()));
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
    claims
}

/// The contracts that a reference means: a file's one, or every major of an id.
fn named_tools<'t>(
    name: &str,
    holder: &str,
    by_id: &HashMap<&str, Vec<&'t Arc<Tool>>>,
    by_file: &HashMap<&str, &'t Arc<Tool>>,
) -> Vec<&'t Arc<Tool>> {
    if !reference::is_path(name) {
        return by_id.get(name).cloned().unwrap_or_default();
    }
    let paths = reference::paths(name, holder, "TOOL.md");
    let found = paths.iter().find_map(|path| by_file.get(path.as_str()));
    found.map(|tool| vec![*tool]).unwrap_or_default()
}

fn unknown_tool<'a>(
    driver: &Driver,
    entry: &Implements,
    ids: impl Iterator<Item = &'a str>,
) -> Finding {
    let name = &entry.tool;
    let rule = if is_bundle(driver) { rules::C060 } else { rules::D050 };
    let place = format!("{}/tool", entry.place);
    let finding = Finding::new(rule, &driver.file, &place, format!("there is no tool `{name}`"));
    match haft_contract::did_you_mean(name, ids) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding.help("name a contract by its id or by the path of its TOOL.md"),
    }
}

/// The entry of one tool, or the earlier one if nothing it is made of changed.
fn entry(
    tool: &Arc<Tool>,
    claims: &[(Arc<Driver>, usize)],
    actions: &Actions,
    accepted: Option<&Accepted>,
    earlier: Option<&Arc<Entry>>,
) -> Arc<Entry> {
    let (action, mut findings) = match actions.of(tool) {
        Ok(action) => (action, Vec::new()),
        Err(finding) => (None, vec![*finding]),
    };
    if let Some(earlier) =
        earlier.filter(|earlier| earlier.made_of(tool, action.as_ref(), claims, accepted))
    {
        return earlier.clone();
    }
    if let Some(action) = &action {
        findings.extend(inherit(tool, action));
    }
    let unsound = findings.first().map(|finding| Block {
        reason: "contract_invalid",
        message: format!("`{}`: {}", tool.key, finding.message),
        help: "`haft check` shows where".into(),
    });
    let contract = Arc::new(Contract::new(tool.clone(), action));
    let drift = accepted.and_then(|accepted| drift(&contract, accepted, &mut findings));
    let mut bindings = Vec::with_capacity(claims.len());
    for (driver, index) in claims {
        let (binding, found) = bind(driver, *index, &contract);
        bindings.push(binding);
        findings.extend(found);
    }
    bindings.sort_by(|a, b| a.driver.id.cmp(&b.driver.id));
    findings.extend(unreachable_default(tool, &bindings));
    Arc::new(Entry::new(contract, bindings, findings, unsound.or(drift), accepted.cloned()))
}

/// Why a contract is not the one that was accepted.
fn drift(contract: &Contract, accepted: &Accepted, findings: &mut Vec<Finding>) -> Option<Block> {
    let key = contract.key();
    let help = format!("if that is right, `haft accept {key}`");
    let widened = accepted.widened(contract);
    let (rule, reason, message) = if !widened.is_empty() {
        let ways = widened.join(", ");
        (rules::L001, "effects_widened", format!("`{key}` can do more than was accepted: {ways}"))
    } else if !contract.trusted() && accepted.schema != contract.schema_digest() {
        let message =
            format!("the imported `{key}` has another description or schema than was accepted");
        (rules::L002, "schema_changed", message)
    } else {
        return None;
    };
    let file = &contract.tool.file;
    findings.push(Finding::new(rule, file, "/id", message.clone()).help(help.clone()));
    Some(Block { reason, message, help })
}

fn unreachable_default(tool: &Tool, bindings: &[crate::Binding]) -> Option<Finding> {
    let wanted = tool.default_implementation.as_ref()?;
    let found = bindings.iter().find(|binding| binding.driver.id == *wanted);
    let message = match found {
        None => format!("no driver `{wanted}` claims `{}`", tool.key.id),
        Some(binding) => {
            let kind = binding.driver.kind;
            let kept_out = tool.forbid.contains(&kind)
                || (!tool.require_kind.is_empty() && !tool.require_kind.contains(&kind));
            let refused = binding.refused.as_deref();
            match (refused, kept_out) {
                (Some(reason), _) => format!("`{wanted}` can never serve the tool: {reason}"),
                (None, true) => {
                    format!("`{wanted}` is of kind {kind}, which `driver_constraints` keeps out")
                }
                (None, false) => return None,
            }
        }
    };
    let ids = bindings.iter().map(|binding| binding.driver.id.as_str());
    let help = match haft_contract::did_you_mean(wanted.as_str(), ids) {
        Some(near) if found.is_none() => format!("did you mean `{near}`?"),
        _ => "name a driver that serves the tool, or leave it out".into(),
    };
    Some(Finding::new(rules::T047, &tool.file, "/default_implementation", message).help(help))
}
