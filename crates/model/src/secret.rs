//! Secret: a value without a text form, and the record of its use.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{Code, DriverId};

/// A secret value. It has no text form, and its bytes are wiped with the last copy.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// A secret of this value.
    pub fn new(value: String) -> Secret {
        Secret(Arc::new(Zeroizing::new(value)))
    }

    /// The value, for the driver that sends it on.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

/// Form of a secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretKind {
    /// One text.
    #[default]
    Opaque,
    /// Tokens that a host renews.
    OAuth,
    /// A public and a private key.
    KeyPair,
    /// Anything structured.
    Json,
}

/// A grantee of a secret; any one entry grants access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grantee {
    /// Any person with this role.
    Role(String),
    /// This person.
    User(String),
    /// A caller that holds this capability.
    Capability(String),
    /// This tool.
    Tool(String),
    /// This workflow.
    Workflow(String),
}

/// Record of a driver's request for a secret in an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretUse {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Id of the driver.
    pub driver: DriverId,
    /// Slug of the secret.
    pub slug: String,
    /// Why it was withheld, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}
