//! Actor: the identity that calls tools and answers questions, with its tenant and roles.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ActorId;

/// A role of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Calls tools.
    Agent,
    /// Answers approval questions.
    Approver,
    /// Runs the workspace (the operator).
    Admin,
    /// Reads the ledger.
    Auditor,
}

impl Role {
    /// The spelling in settings and records.
    pub fn name(self) -> &'static str {
        match self {
            Role::Agent => "agent",
            Role::Approver => "approver",
            Role::Admin => "admin",
            Role::Auditor => "auditor",
        }
    }
}

/// Whether a held role satisfies a wanted one, by our names or by those of the specs: an owner is
/// an `admin`, an editor an `approver`, a viewer an `auditor`.
pub fn is_role(held: &str, wanted: &str) -> bool {
    let ours = |role: &str| match role {
        "owner" => "admin".to_owned(),
        "editor" => "approver".to_owned(),
        "viewer" => "auditor".to_owned(),
        _ => role.to_owned(),
    };
    ours(held) == ours(wanted)
}

/// Whether a name such as `ana`, `user:ana` or `user://ana` denotes this person.
pub fn is_user(id: &ActorId, name: &str) -> bool {
    let bare = |name: &str| {
        let rest = name.strip_prefix("user:").unwrap_or(name);
        rest.strip_prefix("//").unwrap_or(rest).to_owned()
    };
    id.as_str().starts_with("user:") && bare(id.as_str()) == bare(name)
}

/// Whether two ids may belong to one person: `agent:ana` and `user:ana` are two roles of one
/// subject, so an answer of the one never counts beside the other, nor for a call of it.
pub fn is_same_person(one: &ActorId, other: &ActorId) -> bool {
    let bare = |id: &'_ ActorId| -> String {
        let id = id.as_str();
        let name = id.split_once(':').map_or(id, |(_, name)| name);
        name.strip_prefix("//").unwrap_or(name).to_owned()
    };
    one == other || bare(one) == bare(other)
}

/// An authenticated actor: the edge establishes it, and no later stage doubts or changes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Id such as `user:ana` or `agent:bot`.
    pub id: ActorId,
    /// Tenant of the actor; tenants share nothing.
    pub tenant: Arc<str>,
    /// Roles that the edge established.
    pub roles: BTreeSet<Role>,
    /// The actor who really typed it, where one actor speaks as another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaking: Option<ActorId>,
}

impl Actor {
    /// An actor of a tenant, with its roles.
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

    /// Whether the actor holds a role, by our name for it or by that of the specs.
    pub fn holds(&self, role: &str) -> bool {
        self.roles.iter().any(|held| is_role(held.name(), role))
    }

    /// Whether the actor is a person: only a person answers questions, whatever the roles say.
    pub fn is_person(&self) -> bool {
        let person = |id: &ActorId| id.as_str().starts_with("user:");
        person(&self.id) && self.speaking.as_ref().is_none_or(person)
    }

    /// Whether the actor may answer questions at all: a person who is an approver or an admin.
    pub fn may_answer(&self) -> bool {
        self.is_person()
            && (self.roles.contains(&Role::Approver) || self.roles.contains(&Role::Admin))
    }

    /// Whether the actor may see other actors' calls in its tenant: admins, approvers and auditors
    /// may.
    pub fn sees_all(&self) -> bool {
        self.roles.iter().any(|role| *role != Role::Agent)
    }

    /// Whether the actor may change anything: an auditor without another role only reads.
    pub fn may_change(&self) -> bool {
        !self.roles.contains(&Role::Auditor) || self.roles.len() > 1
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
    /// An actor of which only the id is known: an agent, or a person without a role.
    fn from(id: ActorId) -> Actor {
        let agent = id.as_str().starts_with("agent:");
        Actor::new(id, "default", agent.then_some(Role::Agent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_of_one_subject_are_one_person() {
        let same =
            |one: &str, other: &str| is_same_person(&ActorId::from(one), &ActorId::from(other));
        for (one, other) in [
            ("user:ana", "user:ana"),
            ("user:ana", "agent:ana"),
            ("user://ana", "agent:ana"),
            ("bot://ana", "user:ana"),
            ("user:auth0|a:b", "agent:auth0|a:b"),
        ] {
            assert!(same(one, other) && same(other, one), "{one} {other}");
        }
        for (one, other) in
            [("user:ana", "user:bo"), ("user:ana", "agent:ana2"), ("user:a", "user:")]
        {
            assert!(!same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn auditor_without_another_role_changes_nothing() {
        let may = |roles: &[Role]| Actor::new("user:ana", "t", roles.iter().copied()).may_change();
        assert!(!may(&[Role::Auditor]));
        assert!(may(&[]) && may(&[Role::Agent]) && may(&[Role::Auditor, Role::Agent]));
    }
}
