//! Protocol versions: what the server supports, offers and negotiates.

use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, DiscoverResult, ExtensionCapabilities, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, PromptsCapability, ProtocolVersion,
    RequestMetaObject, ResourcesCapability, ServerCapabilities, ServerConfig, TASKS_EXTENSION_ID,
    ToolsCapability,
};

/// Supported protocol versions, oldest first.
pub(super) const SUPPORTED: &[ProtocolVersion] =
    &[ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// The `_meta` field of the protocol version.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Whether requests of a version are self-contained: from 2026-07-28 on, without handshake and
/// session.
pub(super) fn is_modern(version: &str) -> bool {
    version >= ProtocolVersion::V_2026_07_28.as_str()
}

/// Whether a version has the priming event, an event without data that opens a stream; clients of
/// older ones take it for a message.
pub(super) fn has_priming(version: &str) -> bool {
    version >= ProtocolVersion::V_2025_11_25.as_str()
}

/// The name and version of the server.
pub(super) fn implementation() -> Implementation {
    Implementation::new("haft", env!("CARGO_PKG_VERSION")).with_title("Haft")
}

/// The capabilities of the server.
pub(super) fn capabilities() -> ServerCapabilities {
    let (mut tools, mut prompts) = (ToolsCapability::default(), PromptsCapability::default());
    let mut resources = ResourcesCapability::default();
    (tools.list_changed, prompts.list_changed) = (Some(true), Some(true));
    (resources.list_changed, resources.subscribe) = (Some(true), Some(true));
    let mut capabilities = ServerCapabilities::default();
    (capabilities.tools, capabilities.prompts) = (Some(tools), Some(prompts));
    capabilities.resources = Some(resources);
    capabilities.completions = Some(JsonObject::new());
    capabilities.logging = Some(JsonObject::new());
    capabilities.extensions = Some(task_extension());
    capabilities
}

/// The task extension, as a capability of either side.
pub(super) fn task_extension() -> ExtensionCapabilities {
    ExtensionCapabilities::from([(TASKS_EXTENSION_ID.to_owned(), JsonObject::new())])
}

/// The result of `server/discover`.
pub(super) fn discover() -> DiscoverResult {
    let config = ServerConfig::new(capabilities()).with_server_info(implementation());
    DiscoverResult::from_server_info(SUPPORTED.to_vec(), config)
}

/// The result of `initialize`: the version that the client proposes where it has a handshake, else
/// the newest that has one.
pub(super) fn initialize(proposal: &InitializeRequestParams) -> InitializeResult {
    let proposed = &proposal.protocol_version;
    let mut result = ServerConfig::new(capabilities()).with_server_info(implementation());
    result.protocol_version = match proposed.has_initialize() && SUPPORTED.contains(proposed) {
        true => proposed.clone(),
        false => ProtocolVersion::LATEST_WITH_INITIALIZE,
    };
    // The handshake versions have no extensions, so none is offered there.
    result.capabilities.extensions = None;
    result
}

/// The metadata of a self-contained request.
#[derive(Debug)]
pub(super) struct SelfContained {
    pub(super) version: ProtocolVersion,
    pub(super) capabilities: ClientCapabilities,
}

impl SelfContained {
    /// The version and capabilities in a request's `_meta`.
    pub(super) fn read(meta: &RequestMetaObject) -> Result<Box<SelfContained>, ErrorData> {
        let named = named_version(meta).ok_or_else(|| missing_metadata(meta))?;
        let supported = SUPPORTED.iter().find(|version| version.as_str() == named);
        let version = supported.cloned().ok_or_else(|| unsupported(named))?;
        let capabilities = meta.client_capabilities().ok_or_else(|| missing_metadata(meta))?;
        Ok(Box::new(SelfContained { version, capabilities }))
    }
}

/// The protocol version that a request's `_meta` names.
pub(super) fn named_version(meta: &RequestMetaObject) -> Option<&str> {
    meta.get(VERSION_KEY)?.as_str()
}

/// The error of a version that the server does not support.
pub(super) fn unsupported(version: &str) -> ErrorData {
    let version = serde_json::from_value(version.into()).unwrap_or(ProtocolVersion::LATEST);
    ErrorData::unsupported_protocol_version(version, SUPPORTED)
}

/// The error of a request whose `_meta` lacks required fields.
pub(super) fn missing_metadata(meta: &RequestMetaObject) -> ErrorData {
    let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).join(", ");
    let words = format!("request _meta is missing or has malformed required fields: {missing}");
    ErrorData::invalid_params(words, None)
}
