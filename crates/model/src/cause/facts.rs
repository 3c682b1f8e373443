//! Values of a cause that have names of their own, as the wire spells them.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The stage that failed, where the code alone does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CausePhase {
    /// A driver ran.
    Run,
}

/// What is wrong with a login, or why one failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginFailure {
    /// The login ran out, or the person did not finish in time.
    Expired,
    /// The login lacks scopes.
    Insufficient,
    /// The person canceled the login.
    UserCancelled,
    /// The authorization server failed.
    UpstreamError,
    /// The authorization server denied the login.
    AccessDenied,
    /// The callback did not bring the expected answer.
    CallbackFailed,
    /// The endpoints of the authorization server could not be discovered.
    DiscoveryFailed,
}

/// The login state of a driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthState {
    /// Not probed yet.
    #[default]
    NotLooked,
    /// The driver needs no login.
    NotRequired,
    /// The actor is logged in.
    LoggedIn,
    /// Not logged in.
    LoggedOut,
    /// The login expired.
    Expired,
}

/// Why a backend's form is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FormRefusal {
    /// It holds what cannot be shown.
    Refused,
    /// It asks for a secret.
    Secret,
}

/// What a caller would have to be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAbility {
    /// Let a person fill in a form.
    Form,
    /// Let a person open a URL.
    Page,
    /// Complete a prompt with its model.
    Sample,
    /// Name the folders that it works in.
    Roots,
    /// Come back for the result of a task.
    Tasks,
}

/// The JSON-RPC error of a backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JsonRpcError {
    /// Its code.
    pub code: i64,
    /// Its message, where the refusal's own message differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its data.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub data: Option<Value>,
}

/// One way in which a value does not fit its schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemaViolation {
    /// JSON pointer into the value.
    pub pointer: String,
    /// The keyword that says no; absent where the value is sensitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The violation, in one line.
    pub message: String,
    /// The value that does not fit; absent where it is sensitive.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub value: Option<Value>,
}

/// Reads a value that may be `null` and is there all the same.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
