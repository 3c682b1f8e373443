//! No list is made by looking at everything: the plans that SQLite makes are part of the promise.

use haft_model::{InvocationId, Status, Timestamp};
use haft_testkit::Folder;
use rusqlite::params_from_iter;

use super::runs::queries;
use super::{PACKED, STORY, counting};
use crate::sqlite::schema;
use crate::{RunFilter, UsageFilter};

/// The plan of each query of a filter.
fn plans(filter: &RunFilter, before: Option<i64>) -> Vec<String> {
    let folder = Folder::new();
    let db = schema::writer(&folder.path().join("ledger.db")).unwrap();
    let plan = |(text, values): (String, Vec<_>)| -> String {
        let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
        let rows = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3));
        rows.unwrap().map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    queries(filter, before).into_iter().map(plan).collect()
}

#[test]
fn every_list_of_runs_is_read_from_an_index_in_its_order() {
    let any = RunFilter::default;
    let text = |text: &str| Some(text.to_owned());
    for (filter, expected) in [
        // The newest of all, until there are enough.
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
    let db = schema::writer(&folder.path().join("ledger.db")).unwrap();
    let some = Some("x".to_owned());
    let filter = UsageFilter {
        since: Timestamp::UNIX_EPOCH,
        tools: None,
        actor: some.clone(),
        tenant: some,
    };
    for (text, expected) in [
        (STORY, "SEARCH entries USING INDEX entries_of (invocation=?)"),
        (PACKED, "SEARCH entries USING INDEX entries_of (invocation=?)"),
        (&counting(&filter).0, "SEARCH runs USING COVERING INDEX runs_since (created>?)"),
    ] {
        let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
        let mut rows = statement.raw_query();
        let plan: String = rows.next().unwrap().unwrap().get(3).unwrap();
        assert_eq!(plan, expected, "{text}");
    }
}
