//! Run pagination: picks the index for each filter explicitly.
//!
//! Newest first is the order of every index, so a page of a long list costs as much as a page.

use haft_model::{Code, InvocationId, QuestionId, Status};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Result, Row, params_from_iter};

use super::{effect, time, word};
use crate::projections::{bare, most};
use crate::{Run, RunFilter};

const COLUMNS: &str =
    "invocation, tool, actor, tenant, status, effect, code, approval, created, ended, seq";

/// The runs that match a filter, newest first.
pub(crate) fn runs(db: &Connection, filter: &RunFilter) -> Result<Vec<Run>> {
    let before = match &filter.before {
        Some(before) => {
            let text = "SELECT seq FROM runs WHERE invocation = ?1";
            let seq: Option<i64> =
                db.prepare_cached(text)?.query_row([before.as_str()], |r| r.get(0)).optional()?;
            let Some(seq) = seq else { return Ok(Vec::new()) };
            Some(seq)
        }
        None => None,
    };
    let mut found = Vec::new();
    for (text, values) in queries(filter, before) {
        let mut statement = db.prepare_cached(&text)?;
        let rows = statement
            .query_map(params_from_iter(values), |row| Ok((row.get::<_, i64>(10)?, run(row)?)))?;
        found.extend(rows.collect::<Result<Vec<_>>>()?);
    }
    found.sort_by_key(|(seq, _)| std::cmp::Reverse(*seq));
    found.truncate(most(filter));
    Ok(found.into_iter().map(|(_, run)| run).collect())
}

/// Every run, oldest first.
pub(crate) fn all_runs(db: &Connection) -> Result<Vec<Run>> {
    db.prepare(&format!("SELECT {COLUMNS} FROM runs ORDER BY seq"))?.query_map([], run)?.collect()
}

/// The queries of a filter, each with its values. Failed runs are few among many, and each failed
/// status has its own range of the index, so each is queried by itself.
pub(super) fn queries(filter: &RunFilter, before: Option<i64>) -> Vec<(String, Vec<Value>)> {
    let ill = |status: &Status| status.is_terminal() && *status != Status::Succeeded;
    let narrow = filter.id.is_some() || filter.unknown || filter.open;
    if !narrow && !filter.status.is_empty() && filter.status.iter().all(ill) {
        return filter
            .status
            .iter()
            .map(|one| query(filter, before, "runs_ill", &[*one]))
            .collect();
    }
    vec![query(filter, before, index(filter), &filter.status)]
}

/// The index that serves a filter; empty for the table itself.
fn index(filter: &RunFilter) -> &'static str {
    if filter.id.is_some() {
        ""
    } else if filter.unknown {
        "runs_unknown"
    } else if filter.open {
        "runs_open"
    } else if filter.tool.is_some() {
        "runs_name"
    } else if filter.actor.is_some() {
        "runs_actor"
    } else if filter.tenant.is_some() {
        "runs_tenant"
    } else {
        ""
    }
}

fn query(
    filter: &RunFilter,
    before: Option<i64>,
    index: &str,
    status: &[Status],
) -> (String, Vec<Value>) {
    let mut text = format!("SELECT {COLUMNS} FROM runs");
    if !index.is_empty() {
        text.push_str(&format!(" INDEXED BY {index}"));
    }
    text.push_str(" WHERE 1");
    let mut values = Vec::new();
    let mut only = |column: &str, value: Option<&str>| {
        if let Some(value) = value {
            text.push_str(&format!(" AND {column} = ?"));
            values.push(Value::Text(value.to_owned()));
        }
    };
    only("invocation", filter.id.as_ref().map(InvocationId::as_str));
    only("name", filter.tool.as_deref().map(bare));
    only("tool", filter.tool.as_deref().filter(|tool| bare(tool) != *tool));
    only("actor", filter.actor.as_deref());
    only("tenant", filter.tenant.as_deref());
    match status {
        [] => {}
        [one] => text.push_str(&format!(" AND status = '{one}'")),
        several => {
            let names: Vec<_> = several.iter().map(|one| format!("'{one}'")).collect();
            text.push_str(&format!(" AND status IN ({})", names.join(", ")));
        }
    }
    if index == "runs_ill" {
        text.push_str(" AND ended IS NOT NULL AND status <> 'succeeded'");
    }
    if filter.open {
        text.push_str(" AND ended IS NULL");
    }
    if filter.unknown {
        text.push_str(" AND effect = 'unknown'");
    }
    if let Some(before) = before {
        text.push_str(" AND seq < ?");
        values.push(Value::Integer(before));
    }
    text.push_str(" ORDER BY seq DESC LIMIT ?");
    values.push(Value::Integer(i64::try_from(most(filter)).unwrap_or(i64::MAX)));
    (text, values)
}

fn run(row: &Row<'_>) -> Result<Run> {
    let code: Option<String> = row.get(6)?;
    let approval: Option<String> = row.get(7)?;
    let ended: Option<i64> = row.get(9)?;
    Ok(Run {
        invocation_id: InvocationId::from(row.get::<_, String>(0)?.as_str()),
        tool_id: row.get(1)?,
        actor: row.get(2)?,
        tenant: row.get(3)?,
        status: word(row, 4, Status::parse)?,
        effect_state: effect(row, 5)?,
        error_code: code.map(|_| word(row, 6, Code::parse)).transpose()?,
        approval_id: approval.as_deref().map(QuestionId::from),
        created_at: time(8, row.get(8)?)?,
        ended_at: ended.map(|ended| time(9, ended)).transpose()?,
    })
}
