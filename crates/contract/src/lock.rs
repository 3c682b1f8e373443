//! Lock file: `haft.lock` records what people accepted of each contract, so that nothing widens
//! unnoticed.

mod upstream;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use haft_model::{Approval, Digest, EffectClass, EffectProfile, Risk, ToolKey, Tri};

use crate::read::{flag, set, text};
use crate::source::{self, MapEntry, Node};
use crate::{Contract, Diagnostic, Report, Source, Span, rules};

pub use upstream::{Upstream, UpstreamStanding};

/// The accepted contracts, upstream tools and governing files of a workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// The accepted contracts, by `id@major`.
    pub tools: BTreeMap<String, Arc<AcceptedContract>>,
    /// The accepted tools of upstream servers, by `driver/tool`.
    pub upstream: BTreeMap<String, Upstream>,
    /// The digest of each accepted governing file, by its path from the workspace's root; `None`
    /// where none was ever accepted.
    pub governing: Option<BTreeMap<String, Digest>>,
    /// Whether part of the file could not be read: then no contract counts as new.
    pub damaged: bool,
}

/// The acceptance record of one contract.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceptedContract {
    /// The digest of its effects.
    pub fingerprint: Digest,
    /// The digest of description and schemas, which the model sees.
    pub schema: Digest,
    /// The resources that it may mutate.
    pub mutates: BTreeSet<String>,
    /// Whether the author stated `mutates`; otherwise the contract may mutate anything.
    pub mutates_stated: bool,
    /// Hosts it may reach.
    pub network: BTreeSet<String>,
    /// Secrets it may use.
    pub secrets: BTreeSet<String>,
    /// Tools it may call.
    pub tools: BTreeSet<String>,
    /// The accepted effect classes.
    pub classes: BTreeSet<EffectClass>,
    /// The accepted risk level.
    pub risk: Risk,
    /// Whether the contract is read-only.
    pub read_only: bool,
    /// Whether the contract lists every host that it reaches.
    pub closed_world: bool,
    /// The approval class.
    pub approval: Approval,
    /// Inputs that every call has to give.
    pub required: BTreeSet<String>,
    /// Outputs that every answer has.
    pub promised: BTreeSet<String>,
    /// Its drivers by `id@major`, and what each leaves out of the contract.
    pub drivers: BTreeMap<String, BTreeSet<String>>,
}

impl AcceptedContract {
    /// Records the acceptance of a contract as it is now, with the drivers that claim it.
    pub fn of(
        contract: &Contract,
        drivers: BTreeMap<String, BTreeSet<String>>,
    ) -> AcceptedContract {
        let effects: &EffectProfile = &contract.effects;
        AcceptedContract {
            fingerprint: effects.fingerprint(),
            schema: contract.schema_digest(),
            mutates: effects.mutates.clone(),
            mutates_stated: effects.mutates_stated,
            network: effects.requires.network.clone(),
            secrets: effects.requires.secrets.clone(),
            tools: effects.requires.tools.clone(),
            classes: effects.classes.clone(),
            risk: effects.risk,
            read_only: effects.facts.read_only == Tri::Yes,
            closed_world: effects.facts.open_world == Tri::No,
            approval: effects.approval.clone(),
            required: required(&contract.tool.inputs),
            promised: required(&contract.tool.outputs),
            drivers,
        }
    }

    /// Every way in which callers of the same major are broken by what the contract says now.
    pub fn broken(&self, contract: &Contract) -> Vec<String> {
        let now = required(&contract.tool.inputs);
        let asked = now.difference(&self.required).map(|name| format!("it requires `{name}` now"));
        let now = required(&contract.tool.outputs);
        let gone = self.promised.difference(&now);
        asked.chain(gone.map(|name| format!("it no longer promises `{name}`"))).collect()
    }

    /// Every way in which a contract is wider now than it was when it was accepted.
    pub fn widened(&self, contract: &Contract) -> Vec<String> {
        if contract.effects.fingerprint() == self.fingerprint {
            return Vec::new();
        }
        let now = AcceptedContract::of(contract, BTreeMap::new());
        let mut ways = Vec::new();
        // What was accepted as anything cannot grow.
        if self.mutates_stated {
            ways.extend(added("mutates", &self.mutates, &now.mutates));
            let classes = now.classes.difference(&self.classes);
            ways.extend(classes.map(|class| format!("it is `{}` now", class.name())));
            if !now.mutates_stated {
                ways.push("it no longer says what it changes".into());
            }
        }
        if self.closed_world {
            ways.extend(added("requires.network", &self.network, &now.network));
        }
        ways.extend(added("requires.secrets", &self.secrets, &now.secrets));
        ways.extend(added("requires.tools", &self.tools, &now.tools));
        if now.risk > self.risk {
            ways.push(format!("its risk rises from {} to {}", self.risk, now.risk));
        }
        if self.read_only && !now.read_only {
            ways.push("it is no longer read-only".into());
        }
        if self.closed_world && !now.closed_world {
            ways.push("it no longer names every host it reaches".into());
        }
        if !now.approval.meets(&self.approval) {
            ways.push(format!("its approval falls from {} to {}", self.approval, now.approval));
        }
        ways
    }
}

fn required(schema: &serde_json::Value) -> BTreeSet<String> {
    let names = schema.get("required").and_then(serde_json::Value::as_array);
    names.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

fn added<'a>(
    name: &'a str,
    then: &'a BTreeSet<String>,
    now: &'a BTreeSet<String>,
) -> impl Iterator<Item = String> + 'a {
    now.difference(then).map(move |entry| format!("`{name}` adds `{entry}`"))
}

/// The acceptance state of one contract.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// People accepted the contract in this form.
    Accepted(Arc<AcceptedContract>),
    /// Not accepted yet: no call goes through before a person accepts it.
    New,
    /// It comes with the program and not from a file, so running the program accepts it. What was
    /// accepted is then said of the drivers in files that claim it.
    Given(Option<Arc<AcceptedContract>>),
    /// The lock is damaged, and what it said of the contract may be lost.
    Lost,
}

impl Standing {
    /// The drivers that were accepted, by `id@major`, and what each leaves out.
    pub fn accepted_drivers(&self) -> Option<&BTreeMap<String, BTreeSet<String>>> {
        match self {
            Standing::Accepted(accepted) | Standing::Given(Some(accepted)) => {
                Some(&accepted.drivers)
            }
            Standing::New | Standing::Given(None) | Standing::Lost => None,
        }
    }
}

impl Lock {
    /// The acceptance state of a contract that comes with the program.
    pub fn standing_of_given(&self, key: &ToolKey) -> Standing {
        Standing::Given(self.tools.get(&key.to_string()).cloned())
    }

    /// The acceptance state of a contract.
    pub fn standing(&self, key: &ToolKey) -> Standing {
        match self.tools.get(&key.to_string()) {
            Some(accepted) => Standing::Accepted(accepted.clone()),
            None if self.damaged => Standing::Lost,
            None => Standing::New,
        }
    }

    /// The lock of a file that is no text at all.
    pub fn unreadable() -> Lock {
        Lock { damaged: true, ..Lock::default() }
    }

    /// Reads a lock file. One that cannot be read accepts nothing and says so.
    pub fn read(source: &Source) -> (Lock, Vec<Diagnostic>) {
        let mut report = Report::new(source);
        let mut lock = Lock::default();
        for piece in pieces(source.text()) {
            let root = source::parse_toml(source, piece, &mut report);
            for entry in root.iter().flat_map(Node::entries) {
                lock.take(entry, &mut report);
            }
        }
        lock.damaged = report.has_errors();
        (lock, report.into_diagnostics())
    }

    /// Takes the `[governing]` table and the `[[tool]]` and `[[upstream]]` entries of a piece; nothing
    /// else belongs there.
    fn take(&mut self, entry: &MapEntry, report: &mut Report) {
        let items = entry.value.items();
        if &*entry.key == "governing" && items.is_empty() {
            let digests = entry
                .value
                .entries()
                .iter()
                .map(|file| Some((file.key.to_string(), Digest::from(file.value.text()?))));
            return match digests.collect() {
                Some(digests) => self.governing = Some(digests),
                None => refuse(report, entry.key_span.clone()),
            };
        }
        let upstream = match &*entry.key {
            "tool" if !items.is_empty() => false,
            "upstream" if !items.is_empty() => true,
            _ => return refuse(report, entry.key_span.clone()),
        };
        for item in items {
            let taken = match upstream {
                true => {
                    upstream::read(item).map(|(id, known)| drop(self.upstream.insert(id, known)))
                }
                false => accepted(item).map(|(id, accepted)| {
                    self.tools.insert(id, Arc::new(accepted));
                }),
            };
            if taken.is_none() {
                refuse(report, item.span.clone());
            }
        }
    }

    /// The file's text, the same for the same contents.
    pub fn write(&self) -> String {
        let mut text =
            String::from("# Written by haft. What people accepted; `haft accept` renews it.\n");
        if let Some(governing) = &self.governing {
            let _ = writeln!(text, "\n[governing]");
            for (file, digest) in governing {
                let _ = writeln!(text, "{} = {}", quote(file), quote(digest.as_str()));
            }
        }
        for (id, accepted) in &self.tools {
            let classes = accepted.classes.iter().map(|class| class.name().to_owned()).collect();
            let policies: Vec<String> = accepted.approval.policies.iter().cloned().collect();
            let class = Approval { policies: BTreeSet::new(), ..accepted.approval.clone() };
            let _ = write!(
                text,
                "\n[[tool]]\nid = {}\nfingerprint = {}\nschema = {}\nrisk = {}\nread_only = {}\n\
                 mutates_stated = {}\nclosed_world = {}\napproval = {}\n",
                quote(id),
                quote(accepted.fingerprint.as_str()),
                quote(accepted.schema.as_str()),
                accepted.risk,
                accepted.read_only,
                accepted.mutates_stated,
                accepted.closed_world,
                quote(&class.to_string()),
            );
            let lists: [(&str, &BTreeSet<String>); 8] = [
                ("policies", &policies.into_iter().collect()),
                ("classes", &classes),
                ("mutates", &accepted.mutates),
                ("network", &accepted.network),
                ("secrets", &accepted.secrets),
                ("tools", &accepted.tools),
                ("required", &accepted.required),
                ("promised", &accepted.promised),
            ];
            for (name, items) in lists.into_iter().filter(|(_, items)| !items.is_empty()) {
                let _ = writeln!(text, "{name} = {}", quote_all(items));
            }
            let drivers: Vec<String> = accepted
                .drivers
                .iter()
                .map(|(driver, left_out)| format!("{} = {}", quote(driver), quote_all(left_out)))
                .collect();
            if !drivers.is_empty() {
                let _ = writeln!(text, "drivers = {{ {} }}", drivers.join(", "));
            }
        }
        upstream::write(self, &mut text);
        text
    }
}

/// The file in pieces of some entries each, so that a lock of ten thousand contracts is never one
/// tree, and a broken entry costs its neighbours and not the file.
fn pieces(text: &str) -> Vec<Span> {
    const ENTRIES: usize = 32;
    let starts = text.match_indices("\n[[tool]]").map(|(at, _)| at + 1).step_by(ENTRIES);
    let mut pieces = Vec::new();
    let mut from = 0;
    for start in starts {
        pieces.push(from..start);
        from = start;
    }
    pieces.push(from..text.len());
    pieces
}

fn refuse(report: &mut Report, place: Span) {
    report
        .add(&rules::L003, place, "this entry is not one that Haft wrote")
        .help("run `haft accept` for the tool, or restore haft.lock from git");
}

fn quote_all(items: &BTreeSet<String>) -> String {
    let items: Vec<String> = items.iter().map(|item| quote(item)).collect();
    format!("[{}]", items.join(", "))
}

fn quote(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

fn accepted(node: &Node) -> Option<(String, AcceptedContract)> {
    let mut approval = Approval::parse(text(node, "approval")?)?;
    approval.policies = set(node, "policies");
    let classes: Option<BTreeSet<EffectClass>> =
        set(node, "classes").iter().map(|class| EffectClass::parse(class)).collect();
    Some((
        text(node, "id")?.to_owned(),
        AcceptedContract {
            fingerprint: Digest::from(text(node, "fingerprint")?),
            schema: Digest::from(text(node, "schema")?),
            mutates: set(node, "mutates"),
            mutates_stated: flag(node, "mutates_stated")?,
            network: set(node, "network"),
            secrets: set(node, "secrets"),
            tools: set(node, "tools"),
            classes: classes?,
            risk: node.get("risk").and_then(Node::integer).and_then(Risk::new)?,
            read_only: flag(node, "read_only")?,
            closed_world: flag(node, "closed_world")?,
            approval,
            required: set(node, "required"),
            promised: set(node, "promised"),
            drivers: node
                .get("drivers")
                .map(Node::entries)
                .unwrap_or_default()
                .iter()
                .map(|entry| {
                    (entry.key.to_string(), entry.value.texts().map(str::to_owned).collect())
                })
                .collect(),
        },
    ))
}
