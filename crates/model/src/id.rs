//! Id types: each kind of id is its own type and cheap to clone.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($name:ident, $about:literal) => {
        #[doc = $about]
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as it is written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(ToolId, "The id of a contract, such as `payment.charge`; dots are namespaces.");
id!(DriverId, "The id of a driver, such as `shop-payments-http`.");
id!(ActionId, "The id of an action that policies grant, such as `storage:commit`.");
id!(ActorId, "Who calls or answers, such as `user:ana` or `agent:coder`.");
id!(InvocationId, "One call, for as long as the ledger keeps it, such as `inv_0198…`.");
id!(QuestionId, "One question to people, such as `apr_0198…`.");
id!(TokenId, "One token by which an actor authenticates, such as `tok_0198…`.");

impl InvocationId {
    /// The id of a record that belongs to this invocation, such as its result: `res_0198…`.
    pub fn part(&self, prefix: &str) -> String {
        format!("{prefix}_{}", self.as_str().trim_start_matches("inv_"))
    }

    /// The id of one of several records that belong to this invocation: `dec_0198…_2`.
    pub fn numbered(&self, prefix: &str, number: usize) -> String {
        format!("{}_{number}", self.part(prefix))
    }
}

/// Identity of a contract: its id and major version. Majors live side by side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolKey {
    /// The contract's id.
    pub id: ToolId,
    /// The major of its version.
    pub major: u64,
}

impl ToolKey {
    /// The key of one major of a tool.
    pub fn new(id: &str, major: u64) -> Self {
        Self { id: ToolId::from(id), major }
    }

    /// Splits `id@major`; without an `@` any major matches.
    pub fn split(name: &str) -> (&str, Option<u64>) {
        match name.rsplit_once('@') {
            Some((id, major)) => match major.parse() {
                Ok(major) => (id, Some(major)),
                Err(_) => (name, None),
            },
            None => (name, None),
        }
    }
}

impl fmt::Display for ToolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.id, self.major)
    }
}

impl Serialize for ToolKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
