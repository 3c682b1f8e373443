//! Query plan tests: no list scans everything, so SQLite's plans are part of the promise.

use haft_model::{
    Charge, Compensating, CompensationEnded, Digest, EffectState, Event, Fact, InvocationId,
    Started, Status, Timestamp,
};
use haft_testkit::Folder;
use rusqlite::{StatementStatus, params_from_iter};

use super::runs::queries;
use super::uses::query;
use super::{INTENT, PACKED, STORY, UNANSWERED};
use crate::chain::Loose;
use crate::sqlite::busy::Busy;
use crate::sqlite::schema;
use crate::{Draft, OpenUndoing, RunFilter, UseFilter};

/// The plan of each query of a filter.
fn plans(filter: &RunFilter, before: Option<i64>) -> Vec<String> {
    let folder = Folder::new();
    let db = schema::writer(&folder.path().join("ledger.db"), &Busy::default()).unwrap();
    let plan = |(text, values): (String, Vec<_>)| -> String {
        let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
        let rows = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3));
        rows.unwrap().map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    queries(filter, before).into_iter().map(plan).collect()
}

#[test]
fn every_run_list_is_read_from_ordered_index() {
    let any = RunFilter::default;
    let text = |text: &str| Some(text.to_owned());
    for (filter, expected) in [
        // The newest of all, until the page is full.
        (any(), vec!["SCAN runs"]),
        (
            RunFilter { id: Some(InvocationId::from("inv_1")), ..any() },
            vec!["SEARCH runs USING INDEX sqlite_autoindex_runs_1 (invocation=?)"],
        ),
        (
            RunFilter { tool: text("a.b@1"), ..any() },
            vec!["SEARCH runs USING INDEX runs_name (name=?)"],
        ),
        (
            RunFilter { actor: text("agent:a"), tenant: text("t"), ..any() },
            vec!["SEARCH runs USING INDEX runs_actor (actor=?)"],
        ),
        (
            RunFilter { tenant: text("t"), ..any() },
            vec!["SEARCH runs USING INDEX runs_tenant (tenant=?)"],
        ),
        (
            RunFilter { open: true, tenant: text("t"), ..any() },
            vec!["SCAN runs USING INDEX runs_open"],
        ),
        (RunFilter { unknown: true, ..any() }, vec!["SCAN runs USING INDEX runs_unknown"]),
        (
            RunFilter { status: vec![Status::Failed, Status::Denied], ..any() },
            vec!["SEARCH runs USING INDEX runs_ill (status=?)"; 2],
        ),
    ] {
        assert_eq!(plans(&filter, None), expected, "{filter:?}");
    }
    let page = RunFilter { tool: text("a.b@1"), ..any() };
    let paged = ["SEARCH runs USING INDEX runs_name (name=? AND rowid<?)"];
    assert_eq!(plans(&page, Some(7)), paged);
}

#[test]
fn stories_counts_and_payloads_are_read_from_an_index() {
    let folder = Folder::new();
    let db = schema::writer(&folder.path().join("ledger.db"), &Busy::default()).unwrap();
    let some = Some("x".to_owned());
    let filter =
        UseFilter { after: None, since: Timestamp::UNIX_EPOCH, actor: some.clone(), tenant: some };
    let news = UseFilter { after: Some(7), ..filter.clone() };
    for (text, expected) in [
        (STORY, "SEARCH entries USING INDEX entries_of (invocation=?)"),
        (PACKED, "SEARCH entries USING INDEX entries_of (invocation=?)"),
        (&query(&filter).0, "SEARCH uses USING INDEX uses_since (at>?)"),
        (&query(&news).0, "SEARCH uses USING PRIMARY KEY (seq>?)"),
    ] {
        let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
        let mut rows = statement.raw_query();
        let plan: String = rows.next().unwrap().unwrap().get(3).unwrap();
        assert_eq!(plan, expected, "{text}");
    }
}

#[test]
fn what_every_write_asks_is_prepared_once() {
    let folder = Folder::new();
    let db = schema::writer(&folder.path().join("ledger.db"), &Busy::default()).unwrap();
    for text in [UNANSWERED, INTENT] {
        let mut statement = db.prepare(text).unwrap();
        for number in 0..3_u8 {
            statement.raw_bind_parameter(1, [number; 16]).unwrap();
            assert!(statement.raw_query().next().unwrap().is_none());
            statement.clear_bindings();
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0, "{text}");
    }
}

#[test]
fn old_store_gains_attempt_and_compensation_lists() {
    let folder = Folder::new();
    let path = folder.path().join("ledger.db");
    let db = schema::writer(&path, &Busy::default()).unwrap();
    let id = InvocationId::from("inv_1");
    let started = Started {
        attempt: 1,
        driver: "shop-http".into(),
        call_input: Digest::of_bytes(b"{}"),
        fence: 0,
        charge: Charge { millicents: Some(40), ..Charge::default() },
    };
    let at = Timestamp::from_millisecond(1_790_000_000_000).unwrap();
    let fact = |event| Fact { at, phases: Vec::new(), event };
    let begin = |by: &str| Event::Compensating(Compensating { by: by.into() });
    let ended = CompensationEnded { by: "inv_2".into(), effect: EffectState::CompensationFailed };
    let events =
        [Event::Started(started), begin("inv_2"), Event::CompensationEnded(ended), begin("inv_3")];
    let facts = events.map(fact).to_vec();
    let mut draft = Draft { invocation: Some(id.clone()), facts, ..Draft::default() };
    let (line, _) = Loose::of(&mut draft).unwrap().link(None, None);
    db.execute("INSERT INTO entries(seq, line, invocation) VALUES (0, ?1, 'inv_1')", [line])
        .unwrap();
    db.execute_batch(
        "INSERT INTO runs(seq, invocation, tool, name, actor, tenant, status, effect, created)
         VALUES (0, 'inv_1', 'shop.charge@1', 'shop.charge', 'agent:ana', 'shop', 'running',
             'none', 0);
         DROP TABLE uses; DROP TABLE intents; DROP TABLE unanswered; DROP TABLE undoings;
         DROP TABLE tokens; DROP TABLE identity;
         ALTER TABLE leases DROP COLUMN boot; ALTER TABLE leases DROP COLUMN up;
         CREATE INDEX runs_since ON runs(created, tenant, actor, tool);
         DROP TRIGGER heads_no_update; DROP TRIGGER heads_no_delete;
         DROP TRIGGER heads_no_replace; PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(db);
    let db = schema::writer(&path, &Busy::default()).unwrap();
    let found = super::uses::all(&db).unwrap();
    let [used] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((&used.invocation, used.at, used.actor.as_str()), (&id, at, "agent:ana"));
    let open = super::undoings(&db).unwrap();
    assert_eq!(open, [OpenUndoing { original: id, by: "inv_3".into() }]);
    assert_eq!((used.tool.as_str(), used.charge.millicents), ("shop.charge@1", Some(40)));
}

#[test]
fn a_store_from_before_tokens_gets_their_list() {
    let folder = Folder::new();
    let path = folder.path().join("ledger.db");
    let db = schema::writer(&path, &Busy::default()).unwrap();
    db.execute_batch(
        "DROP TABLE tokens; DROP TABLE identity; ALTER TABLE leases DROP COLUMN boot;
         ALTER TABLE leases DROP COLUMN up; DROP TRIGGER heads_no_update;
         DROP TRIGGER heads_no_delete; DROP TRIGGER heads_no_replace; PRAGMA user_version = 2;",
    )
    .unwrap();
    drop(db);
    let db = schema::writer(&path, &Busy::default()).unwrap();
    let count: i64 = db.query_row("SELECT count(*) FROM tokens", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 0);
}

#[test]
fn older_store_gets_append_only_heads() {
    let folder = Folder::new();
    let path = folder.path().join("ledger.db");
    let db = schema::writer(&path, &Busy::default()).unwrap();
    db.execute_batch(
        "DROP TRIGGER heads_no_update; DROP TRIGGER heads_no_delete; DROP TRIGGER heads_no_replace;
         INSERT INTO heads(seq, head) VALUES (1, 'one'); PRAGMA user_version = 5;",
    )
    .unwrap();
    drop(db);
    let db = schema::writer(&path, &Busy::default()).unwrap();
    assert_eq!(schema::texts(&db).unwrap(), schema::expected_texts().unwrap());
    for text in ["UPDATE heads SET head = 'other'", "UPDATE heads SET seq = 9", "DELETE FROM heads"]
    {
        let refused = db.execute_batch(text).unwrap_err().to_string();
        assert!(refused.contains("append-only"), "{text}: {refused}");
    }
    for text in ["INSERT OR REPLACE", "REPLACE", "INSERT OR IGNORE", "INSERT"] {
        db.execute_batch(&format!("{text} INTO heads(seq, head) VALUES (1, 'other')")).unwrap();
    }
    db.execute_batch("INSERT INTO heads(seq, head) VALUES (2, 'two')").unwrap();
    let mut heads = db.prepare("SELECT head FROM heads ORDER BY seq").unwrap();
    let heads: Vec<String> = heads.query_map([], |row| row.get(0)).unwrap().flatten().collect();
    assert_eq!(heads, ["one", "two"]);
}
