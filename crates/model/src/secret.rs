//! A secret: its value, which nobody gets to see, and the fact that it was used.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{Code, DriverId};

/// A value that is shown nowhere. It has no text form, and its bytes are wiped with the last copy.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// A secret of this value.
    pub fn new(value: String) -> Secret {
        Secret(Arc::new(Zeroizing::new(value)))
    }

    /// The value, for whoever hands it on.
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

/// The form of a secret.
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

/// Somebody who has access to a secret; any one entry is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grantee {
    /// Anybody with this role.
    Role(String),
    /// This person.
    User(String),
    /// Whoever holds this capability.
    Capability(String),
    /// This tool.
    Tool(String),
    /// This workflow.
    Workflow(String),
}

/// The fact that a driver wanted a secret for an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretUse {
    /// In which attempt.
    pub attempt: u32,
    /// Which driver.
    pub driver: DriverId,
    /// Which secret.
    pub slug: String,
    /// Why it was withheld, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}
