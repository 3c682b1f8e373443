//! Typed manifest of a driver: what its kind reads at a call, from the text that was checked.
//!
//! The types stand beside their shapes in [`crate::shape::documents`], so that a field is described
//! in one file.

use haft_model::{Code, DriverKind, Stop};
use serde::Deserialize;
use serde_json::Value as Json;

pub use crate::shape::documents::cli::{
    CliEntry, CliFields, CliOutput, OutputFormat, OutputStream, Persist, SandboxBlock,
    SandboxEnvironment, SandboxExec, SandboxFiles, SetupEntry, SkipIf, Tty,
};
pub use crate::shape::documents::driver::{
    AuthBlock, AuthState, CompletesWhen, DriverEntry, DriverExtras, DriverManifest, DriverMetadata,
    EntryMetadata, Expiry, HealthCheck, HealthMethod, HttpProbe, InstallEntry, KindFields,
    LoginBlock, NetworkBlock, Refresh, VersionCheck,
};
pub use crate::shape::documents::haft::{
    BasicLogin, BodyEncoding, BodyInputs, EntryExtras, EventSelection, Pagination, ParameterKind,
    ParameterStyle,
};
pub use crate::shape::documents::http::{
    BackendRate, Framing, HttpEntry, HttpFields, HttpStreaming,
};
pub use crate::shape::documents::mcp::{
    ConnectionOptions, McpEntry, McpFields, McpTransport, ProgramInputs, RemoteLogin,
    ServerLocation,
};
pub use crate::shape::documents::runner::{RunnerBlock, RunnerField, RunnerLimits};
pub use crate::shape::documents::sdk::{SdkEntry, SdkFields, SdkStreaming};

impl DriverManifest {
    /// Reads a manifest of this kind. What `haft check` passed can be read.
    pub fn from_json(kind: DriverKind, raw: &Json) -> Result<DriverManifest, Stop> {
        let unreadable = |fault: serde_json::Error| {
            let id = raw.get("id").and_then(Json::as_str).unwrap_or_default();
            let words = format!("the manifest of driver `{id}` cannot be read: {fault}");
            Stop::new(Code::SetupRequired, words).help("run `haft check`")
        };
        let mut manifest = DriverManifest::deserialize(raw).map_err(unreadable)?;
        let fields = match kind {
            DriverKind::Builtin => Ok(KindFields::Builtin),
            DriverKind::Cli => CliFields::deserialize(raw).map(KindFields::Cli),
            DriverKind::Http => HttpFields::deserialize(raw).map(KindFields::Http),
            DriverKind::Mcp => McpFields::deserialize(raw).map(KindFields::Mcp),
            DriverKind::Sdk => SdkFields::deserialize(raw).map(KindFields::Sdk),
        };
        manifest.kind = fields.map_err(unreadable)?;
        Ok(manifest)
    }

    /// The hosts that its sandbox or, without one, its `network` lists.
    pub fn egress(&self) -> &[String] {
        let own = self.sandbox.as_ref().and_then(|sandbox| sandbox.network.as_ref());
        &own.unwrap_or(&self.network).egress
    }

    /// Its server, where it is of kind mcp.
    pub fn server(&self) -> Option<&ServerLocation> {
        match &self.kind {
            KindFields::Mcp(mcp) => Some(&mcp.server),
            KindFields::Builtin | KindFields::Cli(_) | KindFields::Http(_) | KindFields::Sdk(_) => {
                None
            }
        }
    }

    /// Its program, where it is of kind cli.
    pub fn program(&self) -> Option<&CliFields> {
        match &self.kind {
            KindFields::Cli(cli) => Some(cli),
            KindFields::Builtin | KindFields::Mcp(_) | KindFields::Http(_) | KindFields::Sdk(_) => {
                None
            }
        }
    }

    /// The first of its fields that would change the meaning of a call, and that no kind supports.
    pub fn unsupported(&self) -> Option<&'static str> {
        let written = [
            ("code", self.code.is_some()),
            ("run", self.run.is_some()),
            ("inputsFiles", self.inputs_files.is_some()),
            ("outputsFiles", self.outputs_files.is_some()),
        ];
        written.iter().find(|(_, is_written)| *is_written).map(|(name, _)| *name)
    }
}
