//! Who calls and who answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ActorId;

/// What an actor may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Calls tools.
    Agent,
    /// Answers asks.
    Approver,
    /// Runs the workspace.
    Admin,
    /// Reads the log.
    Auditor,
}

impl Role {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Role::Agent => "agent",
            Role::Approver => "approver",
            Role::Admin => "admin",
            Role::Auditor => "auditor",
        }
    }
}

/// Whether a role that somebody holds is the one that is wanted, by our names or by those of the
/// specs: an owner is an `admin`, an editor an `approver`, a viewer an `auditor`.
pub fn is_role(held: &str, wanted: &str) -> bool {
    let ours = |role: &str| match role {
        "owner" => "admin".to_owned(),
        "editor" => "approver".to_owned(),
        "viewer" => "auditor".to_owned(),
        _ => role.to_owned(),
    };
    ours(held) == ours(wanted)
}

/// Whether a name such as `ana`, `user:ana` or `user://ana` is this person's.
pub fn is_user(id: &ActorId, name: &str) -> bool {
    let bare = |name: &str| {
        let rest = name.strip_prefix("user:").unwrap_or(name);
        rest.strip_prefix("//").unwrap_or(rest).to_owned()
    };
    id.as_str().starts_with("user:") && bare(id.as_str()) == bare(name)
}

/// An actor as the edge established it: no room behind the edge doubts or changes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Who.
    pub id: ActorId,
    /// Whose they are; tenants are apart in everything.
    pub tenant: Arc<str>,
    /// What they may do.
    pub roles: BTreeSet<Role>,
    /// Who really typed it, where somebody speaks as another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaking: Option<ActorId>,
}

impl Actor {
    /// An actor of a tenant.
    pub fn new(
        id: impl Into<ActorId>,
        tenant: &str,
        roles: impl IntoIterator<Item = Role>,
    ) -> Actor {
        Actor {
            id: id.into(),
            tenant: tenant.into(),
            roles: roles.into_iter().collect(),
            speaking: None,
        }
    }

    /// Whether they hold a role, by our name for it or by that of the specs.
    pub fn holds(&self, role: &str) -> bool {
        self.roles.iter().any(|held| is_role(held.name(), role))
    }

    /// Whether this is a person: only a person answers questions, whatever roles say.
    pub fn is_person(&self) -> bool {
        let person = |id: &ActorId| id.as_str().starts_with("user:");
        person(&self.id) && self.speaking.as_ref().is_none_or(person)
    }

    /// Whether they may answer questions at all: a person who is an approver or runs the workspace.
    pub fn may_answer(&self) -> bool {
        self.is_person()
            && (self.roles.contains(&Role::Approver) || self.roles.contains(&Role::Admin))
    }

    /// Whether they may see the calls of others of their tenant: those who run the workspace, answer
    /// questions or check the log.
    pub fn sees_all(&self) -> bool {
        self.roles.iter().any(|role| *role != Role::Agent)
    }

    /// The id in the scheme of AIP-38: `user:x` is `user://x`, `agent:x` is `bot://x`.
    pub fn principal(&self) -> String {
        let id = self.id.as_str();
        match id.split_once(':') {
            Some(("agent", name)) => format!("bot://{name}"),
            Some((scheme, name)) if !name.starts_with("//") => format!("{scheme}://{name}"),
            Some(_) | None => id.to_owned(),
        }
    }
}

impl From<ActorId> for Actor {
    /// Somebody of whom nothing but the id is known: an agent, or a person without a role.
    fn from(id: ActorId) -> Actor {
        let agent = id.as_str().starts_with("agent:");
        Actor::new(id, "default", agent.then_some(Role::Agent))
    }
}
