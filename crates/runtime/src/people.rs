//! Actors of a workspace: resolves ids to actors and roles, and strips approval rights from
//! unauthenticated callers.

use haft_model::{Actor, ActorId, Code, Role, Stop};

/// Refuses auditors. Every entry point that changes something calls this.
pub fn may_change(by: &Actor) -> Result<(), Stop> {
    if by.may_change() {
        return Ok(());
    }
    let words = format!("`{}` is an auditor, who changes nothing", by.id);
    Err(Stop::new(Code::PermissionDenied, words))
}

/// The actors that a workspace knows, and the defaults for all others.
#[derive(Clone, Debug)]
pub struct People {
    /// Tenant of actors without a tenant of their own.
    pub tenant: String,
    /// The actor id of a local caller without a token.
    pub default_actor: ActorId,
    /// Actors that the settings name, with their roles.
    pub known: Vec<Actor>,
}

impl Default for People {
    fn default() -> People {
        People {
            tenant: "workspace".to_owned(),
            default_actor: ActorId::from("agent:local"),
            known: Vec::new(),
        }
    }
}

impl People {
    /// The actor with this id. An unknown person may call and not approve.
    pub fn actor(&self, id: &str) -> Actor {
        match self.known.iter().find(|actor| actor.id.as_str() == id) {
            Some(known) => known.clone(),
            None => {
                let role = id.starts_with("agent:").then_some(Role::Agent);
                Actor::new(ActorId::from(id), &self.tenant, role)
            }
        }
    }

    /// The actor of a caller without a token. It can never approve, whatever roles its id has: any
    /// process on the machine could be it, the agent that asked included. An auditor keeps that
    /// role, since an actor without roles may do more.
    pub fn stranger(&self) -> Actor {
        let mut actor = self.actor(self.default_actor.as_str());
        if actor.may_change() {
            actor.roles.retain(|role| *role == Role::Agent);
        }
        actor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stranger_never_gains_by_losing_roles() {
        let all = [Role::Agent, Role::Approver, Role::Admin, Role::Auditor];
        for bits in 0_u8..16 {
            let held = all.into_iter().enumerate().filter(|(index, _)| bits & (1 << index) != 0);
            let known = Actor::new("user:ana", "workspace", held.map(|(_, role)| role));
            let people = People {
                default_actor: ActorId::from("user:ana"),
                known: vec![known.clone()],
                ..People::default()
            };
            let stranger = people.stranger();
            assert!(!stranger.may_answer(), "{known:?}");
            assert!(known.may_change() || !stranger.may_change(), "{known:?}");
            assert!(known.sees_all() || !stranger.sees_all(), "{known:?}");
        }
    }
}
