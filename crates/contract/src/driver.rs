//! Driver manifest: `DRIVER.md` (AIP-30), one implementation of contracts.

mod lint;
pub mod manifest;

use manifest::{DriverManifest, EntryMetadata};

pub(crate) use lint::{bundle_setup, install, secrets_in, shell_features};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use haft_model::{CostClass, Digest, DriverId, DriverKind, RetryPolicy, Stop};
use serde::Deserialize as _;
use serde_json::Value as Json;

use crate::io::check_io;
use crate::range::{self, VersionRange};
use crate::read::{cost_class, json, list, owned, retry, set, shared, text, whole};
use crate::runner::check_runner_of;
use crate::shape::{Shape, check, documents, strangers};
use crate::source::{self, Node, Syntax};
use crate::{Report, Source, rules};

/// A driver as its author wrote it.
#[derive(Clone, Debug)]
pub struct Driver {
    /// The file it came from.
    pub file: Arc<str>,
    /// Its name for people.
    pub name: Arc<str>,
    /// The driver's id, unique in the workspace.
    pub id: DriverId,
    /// The version of the manifest.
    pub version: Arc<str>,
    /// The kind of backend, which selects the implementation.
    pub kind: DriverKind,
    /// The contracts that it serves.
    pub implements: Vec<Implements>,
    /// The login that the backend needs; `None` where it needs none.
    pub auth: Option<DriverAuth>,
    /// Egress allowlist: the hosts that it may reach.
    pub egress: Vec<String>,
    /// Paths beyond the workspace that it opens, each with its purpose: an effect that people
    /// accept.
    pub opens: BTreeSet<String>,
    /// Paths of `auth.state.paths`, which every call of the driver may write.
    pub state: Arc<[String]>,
    /// The programs that it starts: names of the system's, or paths.
    pub executes: Vec<String>,
    /// Regions it serves.
    pub region: Vec<String>,
    /// Tags that workspaces allow or forbid.
    pub policy_tags: Vec<String>,
    /// The cost of a call.
    pub cost: Cost,
    /// Timeout of a call in milliseconds; it only shortens the contract's.
    pub timeout_ms: Option<u64>,
    /// Retry policy for this backend.
    pub retry: Option<RetryPolicy>,
    /// Operating systems it runs on; empty means all.
    pub os: Vec<String>,
    /// Processors it runs on; empty means all.
    pub arch: Vec<String>,
    /// The host that a builtin belongs to.
    pub host_id: Option<String>,
    /// Its text.
    pub(crate) source: Source,
    /// The digest of its text, computed on first use.
    pub(crate) digest: OnceLock<Digest>,
}

impl Driver {
    /// The digest of its text: identifies this driver at this version of its file.
    pub fn digest(&self) -> &Digest {
        self.digest.get_or_init(|| Digest::of_bytes(self.source.text().as_bytes()))
    }

    /// Its typed manifest, for the kind that carries it out. Read again from its text, because most
    /// drivers of a large workspace are never called.
    pub fn manifest(&self) -> Result<DriverManifest, Stop> {
        DriverManifest::from_json(self.kind, &self.raw())
    }

    /// Everything it says, as JSON. A bundle says what it serves as a driver does.
    pub fn raw(&self) -> Json {
        let mut scratch = Report::new(&self.source);
        let node = source::parse(&self.source, Syntax::Markdown, &mut scratch);
        let mut raw = node.map(|node| node.to_json()).unwrap_or_default();
        if let Some(fields) = raw.as_object_mut()
            && !fields.contains_key("implements")
        {
            let entries = self.implements.iter().map(|entry| {
                serde_json::json!({
                    "tool": entry.tool, "version": entry.range_text, "metadata": entry.metadata,
                })
            });
            fields.insert("implements".to_owned(), entries.collect());
        }
        raw
    }
}

/// One contract that a driver serves.
#[derive(Clone, Debug)]
pub struct Implements {
    /// JSON pointer of the entry in its file.
    pub place: String,
    /// The contract, by id or path.
    pub tool: String,
    /// The versions it serves.
    pub range: VersionRange,
    /// The version range as written.
    pub range_text: String,
    /// Optional inputs the backend does not take.
    pub drop_inputs: Vec<String>,
    /// Optional outputs it does not give.
    pub drop_outputs: Vec<String>,
    /// The backend's names for inputs.
    pub mapping: BTreeMap<String, MappingEntry>,
    /// The cost of a call of this tool.
    pub cost: Cost,
    /// Timeout for this tool in milliseconds; it only shortens the contract's.
    pub timeout_ms: Option<u64>,
    /// Retry policy for this tool.
    pub retry: Option<RetryPolicy>,
    /// How this kind carries the tool out.
    pub metadata: Json,
}

impl Implements {
    /// How this kind carries the tool out, typed; empty where it cannot be read.
    pub fn typed(&self) -> EntryMetadata {
        EntryMetadata::deserialize(&self.metadata).unwrap_or_default()
    }
}

/// One entry of a mapping, before it is known which side is the contract's.
#[derive(Clone, Debug)]
pub enum MappingEntry {
    /// The contract's key becomes this one.
    To(String),
    /// `{from, transform}`.
    From {
        /// The other name.
        from: String,
        /// A transformer of the driver's.
        transform: Option<String>,
    },
}

/// The cost of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// The cost class.
    pub class: Option<CostClass>,
    /// The cost in units; serves comparison only.
    pub units: Option<f64>,
    /// The currency of the units.
    pub currency: Option<String>,
}

/// The login that a driver needs.
#[derive(Clone, Debug, Default)]
pub struct DriverAuth {
    /// A SECRETS.md or AUTH.md.
    pub reference: Option<String>,
    /// Environment variables that hold a login.
    pub env: Vec<String>,
    /// The login command or flow, as written.
    pub login: Option<Json>,
}

/// Reads a DRIVER.md's frontmatter.
pub(crate) fn read(source: &Source, node: &Node, report: &mut Report) -> Option<Arc<Driver>> {
    check(node, &documents::driver::DRIVER, "D001", report);
    let kind = text(node, "kind").and_then(DriverKind::parse);
    if let Some(shape) = kind.and_then(own_shape) {
        check(node, shape, "D001", report);
    }
    // The fields of an unknown kind are unknown too.
    if let Some(kind) = kind {
        let known: Vec<&Shape> =
            std::iter::once(&documents::driver::DRIVER).chain(own_shape(kind)).collect();
        strangers(node, &known, &lint::DISCOURAGED, &rules::D030, report);
    }
    check_runner_of(node, report);
    check_io(node, report);
    let driver = from_node(source, node)?;
    lint::check(&driver, node, report);
    Some(Arc::new(driver))
}

/// The fields that a kind adds.
pub fn own_shape(kind: DriverKind) -> Option<&'static Shape> {
    match kind {
        DriverKind::Builtin => None,
        DriverKind::Sdk => Some(&documents::sdk::SDK),
        DriverKind::Http => Some(&documents::http::HTTP),
        DriverKind::Mcp => Some(&documents::mcp::MCP),
        DriverKind::Cli => Some(&documents::cli::KIND),
    }
}

pub(crate) fn from_node(source: &Source, node: &Node) -> Option<Driver> {
    let entries = node.get("implements").map(Node::items).unwrap_or_default();
    let machine = node.get("requires");
    let region = list(node, "region");
    Some(Driver {
        file: source.file().clone(),
        name: shared(node, "name")?,
        id: DriverId::from(text(node, "id")?),
        version: shared(node, "version")?,
        kind: DriverKind::parse(text(node, "kind")?)?,
        implements: entries.iter().enumerate().filter_map(implements).collect(),
        auth: node.get("auth").map(auth),
        opens: opens(node),
        state: state(node),
        executes: executes(node),
        egress: node.get("network").map(|network| list(network, "egress")).unwrap_or_default(),
        region: if region.is_empty() { vec!["global".into()] } else { region },
        policy_tags: list(node, "policy_tags"),
        cost: node.get("cost_override").map(cost).unwrap_or_default(),
        timeout_ms: whole(node, "timeout_override_ms"),
        retry: retry(node, "retry_override"),
        os: machine.map(|machine| list(machine, "os")).unwrap_or_default(),
        arch: machine.map(|machine| list(machine, "arch")).unwrap_or_default(),
        host_id: node.at(&["metadata", "builtin"]).and_then(|builtin| owned(builtin, "host_id")),
        source: source.clone(),
        digest: OnceLock::new(),
    })
}

fn implements((index, node): (usize, &Node)) -> Option<Implements> {
    let range_text = owned(node, "version")?;
    let narrowing = node.get("schema_narrowing");
    let dropped = |key| narrowing.map(|narrowing| list(narrowing, key)).unwrap_or_default();
    let mapping = node.get("mapping").map(Node::entries).unwrap_or_default();
    Some(Implements {
        place: format!("/implements/{index}"),
        tool: owned(node, "tool")?,
        range: range::parse(&range_text).ok()?,
        range_text,
        drop_inputs: dropped("drop_inputs"),
        drop_outputs: dropped("drop_outputs"),
        mapping: mapping
            .iter()
            .filter_map(|entry| Some((entry.key.to_string(), mapped(&entry.value)?)))
            .collect(),
        cost: node.get("cost_override").map(cost).unwrap_or_default(),
        timeout_ms: whole(node, "timeout_override_ms"),
        retry: retry(node, "retry_override"),
        metadata: json(node, "metadata").unwrap_or_default(),
    })
}

fn mapped(node: &Node) -> Option<MappingEntry> {
    match node.text() {
        Some(name) => Some(MappingEntry::To(name.to_owned())),
        None => Some(MappingEntry::From {
            from: owned(node, "from")?,
            transform: owned(node, "transform"),
        }),
    }
}

fn cost(node: &Node) -> Cost {
    Cost {
        class: cost_class(node),
        units: node.get("cost_units_per_call").and_then(Node::number),
        currency: owned(node, "currency"),
    }
}

/// The programs that a driver of kind cli or mcp starts. Arguments are no part of it: most of those
/// that name a file name data, which the program may have to write.
pub(crate) fn executes(node: &Node) -> Vec<String> {
    let path = node.get("server").and_then(|server| owned(server, "path"));
    owned(node, "bin").into_iter().chain(path).collect()
}

/// Paths beyond the workspace that a driver reads and writes, of which no contract speaks.
pub(crate) fn opens(node: &Node) -> BTreeSet<String> {
    let state = node.at(&["auth", "state"]).map(|state| set(state, "paths")).unwrap_or_default();
    let read = node.at(&["sandbox", "fs"]).map(|files| set(files, "read")).unwrap_or_default();
    let beyond = read.into_iter().filter(|path| path.starts_with(['/', '~']));
    let read = beyond.map(|path| format!("opens {path} to read"));
    read.chain(state.into_iter().map(|path| format!("opens {path} to write"))).collect()
}

/// Paths that a manifest opens for writing as the driver's own state.
pub(crate) fn state(node: &Node) -> Arc<[String]> {
    node.at(&["auth", "state"]).map(|state| list(state, "paths")).unwrap_or_default().into()
}

fn auth(node: &Node) -> DriverAuth {
    DriverAuth {
        reference: owned(node, "ref"),
        env: node.get("state").map(|state| list(state, "env")).unwrap_or_default(),
        login: json(node, "login"),
    }
}
