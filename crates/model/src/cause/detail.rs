//! Table of the facts that a cause may hold: the variant, its key in JSON and the type of its value.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::facts::{
    AuthState, CausePhase, ClientAbility, FormRefusal, JsonRpcError, LoginFailure, SchemaViolation,
};
use crate::{DriverId, InvocationId, Layer, Tier, Timestamp, ToolError};

/// Writes the enum, its keys and its reader from one table, so that they cannot disagree.
macro_rules! details {
    ($($(#[$doc:meta])* $variant:ident($key:literal, $type:ty),)*) => {
        /// One fact of a cause.
        #[derive(Clone, Debug, PartialEq)]
        pub enum CauseDetail {
            $($(#[$doc])* $variant($type),)*
            /// A key that this version does not know, or a known key with another shape of value.
            Other(String, Value),
        }

        impl CauseDetail {
            /// Its key in JSON.
            pub fn key(&self) -> &str {
                match self {
                    $(CauseDetail::$variant(_) => $key,)*
                    CauseDetail::Other(key, _) => key,
                }
            }

            /// Its value in JSON.
            pub(super) fn value(&self) -> Value {
                match self {
                    $(CauseDetail::$variant(held) => json!(held),)*
                    CauseDetail::Other(_, value) => value.clone(),
                }
            }

            /// Reads a fact; one that would not be written as it was read becomes `Other`.
            pub(super) fn read(key: String, value: Value) -> CauseDetail {
                $(if key == $key && let Some(held) = fitting(&value) {
                    return CauseDetail::$variant(held);
                })*
                CauseDetail::Other(key, value)
            }
        }
    };
}

details! {
    /// The stage that failed, where the code alone does not say.
    Phase("phase", CausePhase),
    /// A stable word for the reason of a block.
    Reason("reason", String),
    /// The tier that the tool needs.
    Tier("tier", Tier),
    /// Whether every driver was rejected for its region.
    Region("region", bool),
    /// The driver that needs a login.
    Driver("driver", DriverId),
    /// What is wrong with the caller's login.
    Login("login", LoginFailure),
    /// How to log in, as the manifest of the driver says it; `null` where it does not.
    LoginMethod("login", Value),
    /// Environment variables that may hold the login.
    Env("env", Vec<String>),
    /// The state of the driver's login.
    State("state", Option<AuthState>),
    /// The scopes that a login lacks, or those that a grant has.
    Scopes("scopes", Vec<String>),
    /// The `WWW-Authenticate` header of a server that wants more scopes.
    Challenge("challenge", String),
    /// The violations of a schema.
    Violations("violations", Vec<SchemaViolation>),
    /// Why a form is not shown.
    Form("form", FormRefusal),
    /// The field of a form that the refusal is about.
    Field("field", String),
    /// What the caller would have to be able to do.
    MissingAbilities("missing_abilities", Vec<ClientAbility>),
    /// The earliest retry, in milliseconds from the failure.
    RetryAfterMs("retry_after_ms", u64),
    /// Until when the call may still take effect.
    Until("until", Timestamp),
    /// Since when the store is down.
    Since("since", Timestamp),
    /// The call that was to be undone.
    Compensates("compensates", InvocationId),
    /// The failure of the call that was to undo it.
    Error("error", Box<ToolError>),
    /// The call that holds the idempotency key.
    KeyReused("key_reused", InvocationId),
    /// Position of the call of the batch that failed, from 0.
    Sibling("sibling", usize),
    /// The layer that decided; `null` where the default did.
    Layer("layer", Option<Layer>),
    /// The rule that decided; `null` where none has a name.
    Rule("rule", Option<String>),
    /// The pattern of the rule.
    Pattern("pattern", String),
    /// The status of an HTTP response.
    HttpStatus("http_status", u16),
    /// The backend's answer, as JSON where it is JSON; `null` where it has none.
    Answer("answer", Value),
    /// The backend's structured answer; `null` where it has none.
    Structured("structured", Value),
    /// The backend's own name for the error.
    Native("native", String),
    /// The backend's JSON-RPC error.
    JsonRpc("json_rpc", JsonRpcError),
    /// The backend's requests to the caller, in its protocol.
    InputRequests("input_requests", Value),
    /// The exit code of a program.
    ExitCode("exit_code", i32),
    /// The end of a program's stderr.
    Stderr("stderr", String),
    /// The last lines of a server's stderr.
    StderrLines("stderr", Vec<String>),
    /// The error number of the operating system.
    Errno("errno", i32),
    /// The type of the exception that a function raised.
    Exception("exception", String),
}

/// The value as its type, where writing it gives the same JSON again.
fn fitting<T: DeserializeOwned + Serialize>(value: &Value) -> Option<T> {
    let held: T = serde_json::from_value(value.clone()).ok()?;
    (serde_json::to_value(&held).ok()? == *value).then_some(held)
}
