//! MCP manifest: parses which server a driver uses and which of its tools implements which
//! contract.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_model::{Code, Plan, Stop};
use haft_notation::Path;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::DeclaredEntries;
use crate::declared::Wrap;

/// Connect timeout where `connection_options.timeout_ms` is not set.
const PATIENCE: Duration = Duration::from_secs(30);

/// The manifest of a driver of kind mcp, as it is written.
#[derive(Deserialize)]
pub(super) struct McpManifestText {
    #[serde(default)]
    pub(super) id: String,
    pub(super) server: ServerLocation,
    pub(super) transport: Transport,
    pub(super) protocol_version: Option<String>,
    #[serde(default)]
    connection_options: Options,
    #[serde(default)]
    network: McpNetwork,
    pub(super) auth: Option<Value>,
}

/// Where a server is: a local program, or a URL.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum ServerLocation {
    Binary {
        path: String,
        #[serde(flatten)]
        given: ProgramInputs,
    },
    Npm {
        package: String,
        #[serde(flatten)]
        given: ProgramInputs,
    },
    Docker {},
    Remote {
        url: String,
        #[serde(default)]
        headers: BTreeMap<String, String>,
        auth: Option<RemoteLogin>,
    },
}

/// Arguments and environment of a server program.
#[derive(Default, Deserialize)]
pub(super) struct ProgramInputs {
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
}

/// Authentication to a remote server: a bearer token, as a template over secrets.
#[derive(Deserialize)]
pub(super) struct RemoteLogin {
    pub(super) bearer: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Transport {
    Stdio,
    Sse,
    Http,
}

#[derive(Default, Deserialize)]
struct Options {
    timeout_ms: Option<u64>,
}

#[derive(Default, Deserialize)]
struct McpNetwork {
    #[serde(default)]
    egress: Vec<String>,
}

/// The manifest entry that implements one contract.
pub(super) struct McpEntry {
    pub(super) tool: String,
    arguments: BTreeMap<String, String>,
    pub(super) extract: Path,
    /// Whether `result_extract` is `$`, so that the whole result is the output.
    pub(super) takes_all: bool,
    pub(super) wrap: Wrap,
    /// Whether the server enforces the idempotency key.
    pub(super) enforces_key: bool,
}

#[derive(Deserialize)]
struct WrittenEntry {
    tool_name: String,
    #[serde(default)]
    argument_mapping: BTreeMap<String, String>,
    result_extract: Option<String>,
}

#[derive(Default, Deserialize)]
struct McpExtras {
    #[serde(default)]
    enforces_key: bool,
    #[serde(default)]
    wrap: Wrap,
}

impl McpManifestText {
    pub(super) fn read(manifest: &Value) -> Result<McpManifestText, Stop> {
        let written = McpManifestText::deserialize(manifest).map_err(|fault| {
            let words = format!("the manifest of this driver cannot be read: {fault}");
            Stop::new(Code::SetupRequired, words).help("run `haft check`")
        })?;
        written.supported()?;
        Ok(written)
    }

    pub(super) fn patience(&self) -> Duration {
        self.connection_options.timeout_ms.map_or(PATIENCE, Duration::from_millis)
    }

    /// The hosts of its egress allowlist, in lower case.
    pub(super) fn egress(&self) -> Vec<String> {
        self.network.egress.iter().map(|host| host.to_ascii_lowercase()).collect()
    }

    fn supported(&self) -> Result<(), Stop> {
        let id = &self.id;
        let what = match (&self.server, self.transport) {
            (ServerLocation::Docker {}, _) => "a server of kind docker",
            (_, Transport::Sse) => "the transport `sse`",
            (ServerLocation::Binary { .. } | ServerLocation::Npm { .. }, Transport::Http) => {
                "a program over `http`"
            }
            (ServerLocation::Remote { .. }, Transport::Stdio) => "a remote server over `stdio`",
            (ServerLocation::Binary { .. } | ServerLocation::Npm { .. }, Transport::Stdio)
            | (ServerLocation::Remote { .. }, Transport::Http) => return Ok(()),
        };
        let words = format!("driver `{id}` uses {what}, which this version cannot run");
        let help = match self.transport {
            Transport::Sse => "ask for streamable HTTP: `transport: http`",
            Transport::Stdio | Transport::Http => {
                "use `binary` or `npm` over `stdio`, or `remote` over `http`"
            }
        };
        Err(Stop::new(Code::SetupRequired, words).help(help))
    }
}

impl McpEntry {
    /// Parses the entry for a plan's contract.
    pub(super) fn of(declared: &DeclaredEntries, plan: &Plan) -> Result<McpEntry, Stop> {
        let written: WrittenEntry = declared.entry(plan, "mcp")?;
        let haft: McpExtras = declared.entry(plan, "haft")?;
        let extract = written.result_extract.as_deref().unwrap_or("$");
        Ok(McpEntry {
            extract: Path::parse(extract).map_err(|_| {
                let words = format!(
                    "driver `{}`: `metadata.mcp.result_extract` cannot be used",
                    declared.id()
                );
                Stop::new(Code::SetupRequired, words).help("run `haft check`")
            })?,
            takes_all: extract == "$",
            wrap: haft.wrap,
            tool: written.tool_name,
            arguments: written.argument_mapping,
            enforces_key: haft.enforces_key,
        })
    }

    /// Renames the input's fields for the server. `argument_mapping` takes precedence over the
    /// general `mapping`.
    pub(super) fn arguments(&self, plan: &Plan) -> Map<String, Value> {
        let Value::Object(fields) = &plan.input else { return Map::new() };
        let named = |name: &String| {
            let general = || plan.renames.iter().find(|(from, _)| from == name).map(|(_, to)| to);
            self.arguments.get(name).or_else(general).unwrap_or(name).clone()
        };
        fields.iter().map(|(name, value)| (named(name), value.clone())).collect()
    }
}
