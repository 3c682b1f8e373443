//! Tests of surface scopes: isolation and expiry.

use haft_model::{Actor, Role};

use super::*;
use crate::runtime::later;

fn at(seconds: i64) -> Timestamp {
    later(Timestamp::UNIX_EPOCH, std::time::Duration::from_secs(seconds.unsigned_abs()))
}

fn loaded(scopes: &SurfaceStates, actor: &str, session: &str, seconds: i64) -> usize {
    let actor = Actor::new(actor, "shop", [Role::Agent]);
    let within = [format!("session:{session}")];
    let viewer = Viewer { actor: &actor, within: &within };
    scopes.with(&viewer, at(seconds), |scope| {
        let before = scope.loaded.len();
        scope.loaded.insert(ToolKey::new("a.b", 1));
        before
    })
}

#[test]
fn loaded_tools_belong_to_one_actor_and_session() {
    let scopes = SurfaceStates::default();
    assert_eq!(loaded(&scopes, "agent:a", "1", 0), 0);
    assert_eq!(loaded(&scopes, "agent:a", "1", 1), 1);
    assert_eq!(loaded(&scopes, "agent:a", "2", 1), 0);
    assert_eq!(loaded(&scopes, "agent:b", "1", 1), 0, "another actor may call a session the same");
}

#[test]
fn idle_session_is_evicted() {
    let scopes = SurfaceStates::default();
    assert_eq!(loaded(&scopes, "agent:a", "1", 0), 0);
    assert_eq!(loaded(&scopes, "agent:a", "1", IDLE - 1), 1);
    assert_eq!(loaded(&scopes, "agent:a", "1", 3 * IDLE), 0);
}

#[test]
fn least_recently_used_session_is_evicted_at_capacity() {
    let scopes = SurfaceStates::default();
    for number in 0..MOST_SCOPES {
        loaded(&scopes, "agent:a", &number.to_string(), i64::try_from(number).unwrap_or_default());
    }
    assert_eq!(loaded(&scopes, "agent:a", "0", 5000), 1);
    assert_eq!(loaded(&scopes, "agent:a", "one more", 5001), 0);
    assert_eq!(loaded(&scopes, "agent:a", "0", 5002), 1);
    assert_eq!(loaded(&scopes, "agent:a", "1", 5003), 0, "it had to make room");
    assert_eq!(scopes.all().len(), MOST_SCOPES);
}
