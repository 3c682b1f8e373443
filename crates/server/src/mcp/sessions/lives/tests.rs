//! Session table tests: ownership, eviction and records.
#![allow(clippy::unwrap_used, reason = "a case that cannot be laid out fails the test")]

use std::time::Duration;

use haft_model::Role;
use haft_testkit::SeededRandom;
use serde_json::json;

use super::*;
use crate::mcp::sessions::presence::{Presence, SessionReservation};
use crate::mcp::sessions::{KEPT, SharedLives, locked};

fn owner(name: &str) -> Owner {
    Owner::of(&Actor::new(name, "shop", [Role::Agent]))
}

fn id(name: &str) -> SessionId {
    SessionId::from(name)
}

fn limits(most: usize, per_actor: usize) -> SessionLimits {
    SessionLimits { most, per_actor, ..SessionLimits::default() }
}

fn says(method: &str, params: serde_json::Value) -> ClientJsonRpcMessage {
    let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
    if !method.starts_with("notifications/") {
        message["id"] = json!(0);
    }
    serde_json::from_value(message).unwrap()
}

fn hello() -> serde_json::Value {
    json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    })
}

#[test]
fn session_lasts_while_a_request_waits_in_it() {
    let mut lives = Lives::default();
    let [waits, idle, gone] = ["waits", "idle", "gone"].map(id);
    for id in [&waits, &idle, &gone] {
        lives.opened(id, owner("agent:a"));
    }
    lives.joined(&waits);
    lives.joined(&gone);
    assert!(lives.ended(&gone, true));
    lives.went(&gone);
    let later = Some(Instant::now() + Duration::from_secs(1));
    assert_eq!(lives.left_before(Instant::now().checked_sub(KEPT)), []);
    assert_eq!(lives.left_before(later), [idle]);
    lives.went(&waits);
    assert_eq!(lives.left_before(later), [waits]);
    assert!(lives.lives.is_empty() && lives.owned.is_empty());
}

#[test]
fn call_is_found_by_request_id_until_answered() {
    let mut lives = Lives::default();
    let (session, request, ana) = (id("s"), RequestId::Number(1), owner("agent:ana"));
    lives.opened(&session, ana.clone());
    lives.heard(&session, &says("initialize", hello()));
    assert!(lives.habits(&session, &ana).is_none(), "before the client is ready");
    lives.heard(&session, &says("notifications/initialized", json!({})));
    assert!(lives.habits(&session, &ana).is_some_and(|habits| !habits.can_be_asked));
    assert!(lives.habits(&session, &owner("agent:bo")).is_none(), "another has no such session");
    let cancel = Cancel::new();
    lives.calls(&session, &request, cancel.clone());
    lives.heard(&session, &says("notifications/cancelled", json!({"requestId": 2})));
    assert!(!cancel.is_cancelled());
    lives.heard(&session, &says("notifications/cancelled", json!({"requestId": 1})));
    assert!(cancel.is_cancelled());
    lives.answered(&session, &request);
    assert!(lives.lives.get(&session).is_some_and(Life::is_idle));
}

#[test]
fn oldest_idle_session_makes_room() {
    let shared = SharedLives::default();
    let (ana, bo) = (owner("agent:ana"), owner("agent:bo"));
    let limits = limits(4, 2);
    let open = |owner: &Owner, name: &str| {
        let (opening, left) = SessionReservation::new(&shared, owner, &limits)?;
        locked(&shared).opened(&id(name), owner.clone());
        drop(opening);
        Ok::<_, Full>(left.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    assert_eq!(open(&ana, "a1"), Ok(vec![]));
    assert_eq!(open(&ana, "a2"), Ok(vec![]));
    let busy = Presence::new(&shared, &id("a1"));
    assert_eq!(open(&ana, "a3"), Ok(vec!["a2".to_owned()]), "the oldest that no request waits in");
    let busier = Presence::new(&shared, &id("a3"));
    assert_eq!(open(&ana, "a4"), Err(Full::Actor(2)));
    assert_eq!(open(&bo, "b1"), Ok(vec![]));
    assert_eq!(open(&bo, "b2"), Ok(vec![]));
    assert_eq!(open(&owner("agent:cleo"), "c1"), Ok(vec!["b1".to_owned()]));
    let last = [Presence::new(&shared, &id("b2")), Presence::new(&shared, &id("c1"))];
    assert_eq!(open(&owner("agent:dan"), "d1"), Err(Full::All(4)));
    drop((busy, busier, last));
    // A reservation without a session is free again.
    drop(SessionReservation::new(&shared, &bo, &limits).unwrap());
    let lives = locked(&shared);
    assert_eq!((lives.opening, lives.owned.values().sum::<usize>()), (0, lives.lives.len()));
}

#[test]
fn random_openings_never_pass_a_cap() {
    let mut random = SeededRandom::new(4);
    let mut below = |most: usize| random.below(most);
    let shared = SharedLives::default();
    let (limits, names) = (limits(12, 5), ["a", "b", "c", "d"]);
    let (mut held, mut places) = (Vec::new(), Vec::new());
    for number in 0..5_000 {
        let owner = owner(&format!("agent:{}", names[below(4)]));
        match below(6) {
            0 | 1 => {
                if let Ok((opening, _)) = SessionReservation::new(&shared, &owner, &limits) {
                    places.push((opening, owner));
                }
            }
            2 | 3 if !places.is_empty() => {
                let (opening, owner) = places.swap_remove(below(places.len()));
                let id = id(&number.to_string());
                locked(&shared).opened(&id, owner);
                drop(opening);
                if below(3) == 0 {
                    held.push(Presence::new(&shared, &id));
                }
            }
            4 if !held.is_empty() => drop(held.swap_remove(below(held.len()))),
            _ => {
                let known: Vec<SessionId> = locked(&shared).lives.keys().cloned().collect();
                if let Some(id) = known.first() {
                    locked(&shared).ended(id, true);
                }
            }
        }
        let lives = locked(&shared);
        assert!(lives.lives.len() + lives.opening <= limits.most, "{number}");
        assert!(lives.owned.values().all(|count| *count <= limits.per_actor), "{number}");
        let counted: usize = lives.owned.values().sum();
        assert_eq!(counted, lives.lives.len() + lives.opening, "{number}");
    }
}

#[test]
fn idle_session_sleeps_and_takes_little() {
    let shared = SharedLives::default();
    let ana = owner("agent:ana");
    for number in 0..100 {
        let mut lives = locked(&shared);
        let id = id(&format!("00000000-0000-4000-8000-{number:012}"));
        lives.opened(&id, ana.clone());
        lives.heard(&id, &says("initialize", hello()));
        lives.keep(&id, Some(vec![b' '; 2048].into_boxed_slice()));
    }
    let held = Presence::new(&shared, &id("00000000-0000-4000-8000-000000000000"));
    let asleep = locked(&shared).drowsy(None, 10);
    assert_eq!(asleep.len(), 89, "all but the one that is in use and the ten that were used last");
    drop(asleep);
    let counts = locked(&shared).counts();
    assert_eq!((counts.awake, counts.asleep), (11, 89));
    assert!(counts.bytes <= 100 * 4096, "{counts:?}");
    drop(held);
    let slept = locked(&shared).drowsy(Some(Instant::now()), 10);
    assert_eq!(slept.len(), 11);
    let name = id("00000000-0000-4000-8000-000000000007");
    let mut lives = locked(&shared);
    assert!(!lives.ended(&name, false), "the end of its worker is not the end of the session");
    assert!(lives.record(&name, &owner("agent:bo")).is_none());
    assert!(lives.record(&name, &ana).is_some() && lives.asleep(&name).is_some());
    assert!(lives.woken(&name) && !lives.woken(&name));
    assert!(lives.asleep(&name).is_none());
    assert!(lives.ended(&name, false), "an end that no sleep explains");
}
