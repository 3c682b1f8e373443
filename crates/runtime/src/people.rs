//! Who is known here.

use haft_model::{Actor, ActorId, Code, Role, Stop};

/// Refuses whoever only audits. Every entrance by which something is changed asks this.
pub fn may_change(by: &Actor) -> Result<(), Stop> {
    if by.may_change() {
        return Ok(());
    }
    let words = format!("`{}` is an auditor, who changes nothing", by.id);
    Err(Stop::new(Code::PermissionDenied, words))
}

/// Those whom a workspace knows, and who everybody else is taken for.
#[derive(Clone, Debug)]
pub struct People {
    /// The tenant of whoever belongs to no other.
    pub tenant: String,
    /// Who a caller on this machine is that shows no token.
    pub default_actor: ActorId,
    /// Those who are named.
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
    /// Somebody as the workspace knows them. A person whom it does not know may call and not answer.
    pub fn actor(&self, id: &str) -> Actor {
        match self.known.iter().find(|actor| actor.id.as_str() == id) {
            Some(known) => known.clone(),
            None => {
                let role = id.starts_with("agent:").then_some(Role::Agent);
                Actor::new(ActorId::from(id), &self.tenant, role)
            }
        }
    }

    /// A caller that shows no token. Whatever roles its id has, it can answer nothing: anybody on the
    /// machine could be it, the agent that asked too. An auditor stays one, since to have no role at all
    /// would allow more.
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
