//! MCP manifest: parses which server a driver uses and which of its tools implements which
//! contract.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_contract::driver::manifest::{
    AuthBlock, EntryMetadata, KindFields, McpFields, McpTransport,
};
pub(super) use haft_contract::driver::manifest::{ProgramInputs, ServerLocation};
use haft_model::{Code, Plan, Stop};
use haft_notation::Path;
use serde_json::{Map, Value};

use crate::DeclaredEntries;
use crate::declared::{Wrap, unreadable};

/// Connect timeout where `connection_options.timeout_ms` is not set.
const PATIENCE: Duration = Duration::from_secs(30);

/// The server of a driver, if this version can reach it.
pub(super) struct ServerManifest {
    pub(super) id: String,
    pub(super) server: ServerLocation,
    pub(super) protocol_version: Option<String>,
    pub(super) auth: Option<AuthBlock>,
    timeout_ms: Option<u64>,
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

impl ServerManifest {
    pub(super) fn read(declared: &DeclaredEntries) -> Result<ServerManifest, Stop> {
        let manifest = declared.manifest()?;
        let id = manifest.id.clone();
        let KindFields::Mcp(fields) = &manifest.kind else {
            return Err(unreadable(&id, "server"));
        };
        supported(&id, fields)?;
        Ok(ServerManifest {
            id,
            server: fields.server.clone(),
            protocol_version: fields.protocol_version.clone(),
            auth: manifest.auth.clone(),
            timeout_ms: fields.connection_options.timeout_ms,
            egress: manifest.network.egress.clone(),
        })
    }

    pub(super) fn patience(&self) -> Duration {
        self.timeout_ms.map_or(PATIENCE, Duration::from_millis)
    }

    /// The hosts of its egress allowlist, in lower case.
    pub(super) fn egress(&self) -> Vec<String> {
        self.egress.iter().map(|host| host.to_ascii_lowercase()).collect()
    }
}

/// Refuses a server or a transport that this version does not support.
fn supported(id: &str, fields: &McpFields) -> Result<(), Stop> {
    let what = match (&fields.server, fields.transport) {
        (ServerLocation::Docker { .. }, _) => "a server of kind docker",
        (_, McpTransport::Sse) => "the transport `sse`",
        (ServerLocation::Binary { .. } | ServerLocation::Npm { .. }, McpTransport::Http) => {
            "a program over `http`"
        }
        (ServerLocation::Remote { .. }, McpTransport::Stdio) => "a remote server over `stdio`",
        (ServerLocation::Binary { .. } | ServerLocation::Npm { .. }, McpTransport::Stdio)
        | (ServerLocation::Remote { .. }, McpTransport::Http) => return Ok(()),
    };
    let words = format!("driver `{id}` uses {what}, which this version cannot run");
    let help = match fields.transport {
        McpTransport::Sse => "ask for streamable HTTP: `transport: http`",
        McpTransport::Stdio | McpTransport::Http => {
            "use `binary` or `npm` over `stdio`, or `remote` over `http`"
        }
    };
    Err(Stop::new(Code::SetupRequired, words).help(help))
}

impl McpEntry {
    /// Parses the entry for a plan's contract.
    pub(super) fn of(declared: &DeclaredEntries, plan: &Plan) -> Result<McpEntry, Stop> {
        let EntryMetadata { mcp, haft, .. } = declared.entry(plan)?;
        let missing = || unreadable(declared.id(), "metadata.mcp");
        let written = mcp.clone().ok_or_else(missing)?;
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
            wrap: Wrap(haft.wrap.clone()),
            tool: written.tool_name,
            arguments: written.argument_mapping,
            enforces_key: haft.enforces_key,
        })
    }

    /// Renames the input's fields for the server. `argument_mapping` takes precedence over the
    /// general `mapping`.
    pub(super) fn arguments(&self, plan: &Plan) -> Map<String, Value> {
        let Value::Object(fields) = &*plan.input else { return Map::new() };
        let named = |name: &String| {
            let general = || plan.renames.iter().find(|(from, _)| from == name).map(|(_, to)| to);
            self.arguments.get(name).or_else(general).unwrap_or(name).clone()
        };
        fields.iter().map(|(name, value)| (named(name), value.clone())).collect()
    }
}
