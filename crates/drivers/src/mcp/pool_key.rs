//! Connection pool key: says which calls may share a connection to an MCP server.

use haft_driver::{Abilities, InquiryKind};
use haft_model::Actor;

use super::server_target::{ServerTarget, TargetKey};
use crate::pool::ItemOwner;

/// Calls with an equal key use the same connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ConnectionPoolKey {
    target: TargetKey,
    /// The actor whose secrets the target holds, or whom the server may ask something.
    owner: Option<ItemOwner>,
    /// The capabilities that the server learned, as JSON, where it may ask the caller.
    asks: Option<String>,
    /// Whether the caller that may be asked holds a session, whose era the connection follows.
    in_session: bool,
    /// Approvers fill in forms for any caller, so callers can share this connection.
    forms: bool,
}

impl ConnectionPoolKey {
    pub(super) fn new(server: &ServerTarget, actor: &Actor, able: &Abilities) -> ConnectionPoolKey {
        ConnectionPoolKey::of(server.key.clone(), server.personal, actor, able)
    }

    fn of(target: TargetKey, personal: bool, actor: &Actor, able: &Abilities) -> ConnectionPoolKey {
        // The server learns what this caller can answer, so the connection is private to its actor.
        let asks = asks_caller(able);
        ConnectionPoolKey {
            target,
            owner: (personal || asks).then(|| ItemOwner::new(actor)),
            asks: asks.then(|| able.told.to_string()),
            in_session: asks && able.in_session,
            forms: able.people,
        }
    }
}

/// Whether the server may ask the caller itself, and not only people in the inbox.
pub(super) fn asks_caller(able: &Abilities) -> bool {
    able.kinds.iter().any(|kind| !(able.people && *kind == InquiryKind::Form))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(personal: bool, tenant: &str, id: &str, able: &Abilities) -> ConnectionPoolKey {
        let target = TargetKey::Remote("https://mcp.example/".into(), None);
        let actor = Actor::new(id, tenant, []);
        ConnectionPoolKey::of(target, personal, &actor, able)
    }

    #[test]
    fn actors_share_where_nothing_is_theirs() {
        let none = Abilities::default();
        let forms =
            Abilities { kinds: [InquiryKind::Form].into(), people: true, ..Abilities::default() };
        for able in [&none, &forms] {
            assert_eq!(key(false, "acme", "user:ana", able), key(false, "acme", "user:ben", able));
        }
        assert_ne!(key(false, "acme", "user:ana", &none), key(false, "acme", "user:ana", &forms));
    }

    #[test]
    fn personal_keys_whose_joined_names_collide_differ() {
        let none = Abilities::default();
        let asked = Abilities {
            kinds: [InquiryKind::Sample].into(),
            told: json!({"sampling": {}}),
            ..Abilities::default()
        };
        let pairs = [
            [("acme user:ana", "b"), ("acme", "user:ana b")],
            [("acme", "user:ana"), ("acme", "user:ana forms")],
            [("acme", "user:ana"), ("acme", "user:ana asks acme user:ana {\"sampling\":{}}")],
        ];
        for [one, other] in pairs {
            for (personal, able) in [(true, &none), (false, &asked), (true, &asked)] {
                let keys = [one, other].map(|(tenant, id)| key(personal, tenant, id, able));
                assert_ne!(keys[0], keys[1], "{one:?} {other:?}");
                assert_eq!(keys[0], key(personal, one.0, one.1, able));
            }
        }
    }
}
