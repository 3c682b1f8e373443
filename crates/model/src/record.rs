//! Published records of Agent Tool v0.2.0. Unknown fields survive a round trip.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version every record we write carries.
pub const SCHEMA_VERSION: &str = "0.2.0";

/// Tool declaration: what a tool is, for callers that choose one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolDeclaration {
    /// Version of the standard.
    pub schema_version: String,
    /// `id@major`.
    pub tool_id: String,
    /// Dotted prefix of the id.
    pub namespace: String,
    /// Last segment of the id.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// One of the seven states.
    pub lifecycle: String,
    /// One of the seventeen kinds, or another.
    pub tool_kind: String,
    /// Everything else, known or not.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// How a tool behaves at run time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolInterface {
    /// Version of the standard.
    pub schema_version: String,
    /// Its own id.
    pub interface_id: String,
    /// The tool it describes.
    pub tool_id: String,
    /// Everything else, known or not.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a tool may touch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PermissionProfile {
    /// Version of the standard.
    pub schema_version: String,
    /// Its own id.
    pub permission_profile_id: String,
    /// `low`, `medium`, `high` or `critical`.
    pub risk_level: String,
    /// Everything else, known or not.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a tool's driver can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecutionProfile {
    /// Version of the standard.
    pub schema_version: String,
    /// Its own id.
    pub execution_profile_id: String,
    /// `http_api`, `shell`, `mcp_server` …
    pub execution_kind: String,
    /// Everything else, known or not.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
