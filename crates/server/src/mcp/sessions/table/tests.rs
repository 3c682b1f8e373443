//! Session table tests: ownership, eviction and suspension.
#![allow(clippy::unwrap_used, reason = "a case that cannot be laid out fails the test")]

use std::time::Duration;

use haft_model::Role;
use haft_testkit::SeededRandom;
use rmcp::model::ProtocolVersion;
use serde_json::json;

use super::*;
use crate::mcp::sessions::KEPT;

fn owner(name: &str) -> SessionOwner {
    SessionOwner::of(&Actor::new(name, "shop", [Role::Agent]))
}

fn id(name: &str) -> SessionId {
    SessionId::from(name)
}

fn limits(most: usize, per_actor: usize) -> SessionLimits {
    SessionLimits { most, per_actor, ..SessionLimits::default() }
}

/// A session of a client whose capabilities take so many bytes.
fn session(size: usize) -> ClientSession {
    let opening = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "experimental": { "x".repeat(size): {} } },
        "clientInfo": { "name": "test", "version": "1" },
    });
    let opening = serde_json::from_value(opening).unwrap();
    ClientSession::new(opening, ProtocolVersion::V_2025_11_25)
}

fn names(table: &SessionTable) -> Vec<&str> {
    let mut names: Vec<&str> = table.sessions.keys().map(|id| &**id).collect();
    names.sort_unstable();
    names
}

#[test]
fn session_lasts_while_a_request_waits_in_it() {
    let (mut table, ana) = (SessionTable::default(), owner("agent:ana"));
    for name in ["waits", "idle", "gone"] {
        table.open(&id(name), ana.clone(), session(1), &limits(9, 9)).unwrap();
    }
    assert!(table.enter(&id("waits"), &ana).is_some());
    assert!(table.enter(&id("gone"), &ana).is_some());
    assert!(table.enter(&id("idle"), &owner("agent:bo")).is_none(), "it is of another actor");
    assert!(!table.end(&id("gone"), &owner("agent:bo")));
    assert!(table.end(&id("gone"), &ana));
    table.leave(&id("gone"));
    table.end_idle_since(Instant::now().checked_sub(KEPT));
    assert_eq!(names(&table), ["idle", "waits"]);
    let later = Some(Instant::now() + Duration::from_secs(1));
    table.end_idle_since(later);
    assert_eq!(names(&table), ["waits"]);
    table.leave(&id("waits"));
    table.end_idle_since(later);
    assert!(table.sessions.is_empty() && table.owned.is_empty());
}

#[test]
fn oldest_idle_session_makes_room() {
    let mut table = SessionTable::default();
    let (ana, bo) = (owner("agent:ana"), owner("agent:bo"));
    let limits = limits(4, 2);
    let open = |table: &mut SessionTable, owner: &SessionOwner, name: &str| {
        table.open(&id(name), owner.clone(), session(1), &limits)
    };
    assert_eq!(open(&mut table, &ana, "a1"), Ok(()));
    assert_eq!(open(&mut table, &ana, "a2"), Ok(()));
    table.enter(&id("a1"), &ana).unwrap();
    assert_eq!(open(&mut table, &ana, "a3"), Ok(()));
    assert_eq!(names(&table), ["a1", "a3"], "the oldest that no request waits in");
    table.enter(&id("a3"), &ana).unwrap();
    assert_eq!(open(&mut table, &ana, "a4"), Err(SessionsFull::Actor(2)));
    assert_eq!(open(&mut table, &bo, "b1"), Ok(()));
    assert_eq!(open(&mut table, &bo, "b2"), Ok(()));
    assert_eq!(open(&mut table, &owner("agent:cleo"), "c1"), Ok(()));
    assert_eq!(names(&table), ["a1", "a3", "b2", "c1"]);
    table.enter(&id("b2"), &bo).unwrap();
    table.enter(&id("c1"), &owner("agent:cleo")).unwrap();
    assert_eq!(open(&mut table, &owner("agent:dan"), "d1"), Err(SessionsFull::All(4)));
    assert_eq!(table.owned.values().sum::<usize>(), table.sessions.len());
}

#[test]
fn random_openings_never_pass_a_cap() {
    let mut random = SeededRandom::new(4);
    let mut below = |most: usize| random.below(most);
    let (mut table, limits) = (SessionTable::default(), limits(12, 5));
    let owners = ["a", "b", "c", "d"].map(|name| owner(&format!("agent:{name}")));
    let mut held: Vec<SessionId> = Vec::new();
    for number in 0..5_000 {
        let owner = &owners[below(4)];
        match below(6) {
            0..=2 => {
                let id = id(&number.to_string());
                let opened = table.open(&id, owner.clone(), session(1), &limits).is_ok();
                if opened && below(3) == 0 && table.enter(&id, owner).is_some() {
                    held.push(id);
                }
            }
            3 if !held.is_empty() => table.leave(&held.swap_remove(below(held.len()))),
            4 => table.suspend_idle_since(None, below(4)),
            _ => {
                let known = table.sessions.iter().next();
                if let Some((id, of)) = known.map(|(id, entry)| (id.clone(), entry.owner.clone())) {
                    assert!(table.end(&id, &of));
                }
            }
        }
        assert!(table.sessions.len() <= limits.most, "{number}");
        assert!(table.owned.values().all(|count| *count <= limits.per_actor), "{number}");
        assert_eq!(table.owned.values().sum::<usize>(), table.sessions.len(), "{number}");
    }
}

#[test]
fn idle_session_sleeps_and_takes_little() {
    let (mut table, ana) = (SessionTable::default(), owner("agent:ana"));
    let name = |number: usize| id(&format!("{number:043}"));
    for number in 0..100 {
        table.open(&name(number), ana.clone(), session(2900), &limits(999, 999)).unwrap();
    }
    let (_, live) = table.enter(&name(0), &ana).unwrap();
    table.suspend_idle_since(None, 10);
    let counts = table.counts();
    assert_eq!((counts.awake, counts.asleep), (11, 89), "ten, and the one in use");
    assert!(counts.bytes <= 100 * 4096, "{counts:?}");
    table.leave(&name(0));
    table.suspend_idle_since(Some(Instant::now()), 10);
    assert_eq!((table.counts().awake, live.over.is_cancelled()), (0, true));
    let (_, again) = table.enter(&name(0), &ana).unwrap();
    assert_eq!((table.counts().awake, again.over.is_cancelled()), (1, false));
    table.open(&id("large"), ana, session(9000), &limits(999, 999)).unwrap();
    table.suspend_idle_since(Some(Instant::now()), 0);
    assert_eq!(table.counts().asleep, 99, "a large record is not kept");
}
