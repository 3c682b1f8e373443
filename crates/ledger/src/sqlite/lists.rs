//! SQL queries: reads entries, payloads and lists from the tables.

mod runs;
#[cfg(test)]
mod tests;
pub(crate) mod uses;

use std::collections::BTreeMap;

use haft_model::{
    ApprovalAnswer, BootTime, Digest, DualTime, EffectState, Event, Intent, InvocationId,
    KeySource, QuestionState, StandingAnswer, Timestamp, Token,
};
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, OptionalExtension, Result, Row, params_from_iter};

use super::apply::found_by;
use crate::line::EntryLine;
use crate::signed_checkpoint::SignedHead;
use crate::{
    Fence, IntentRecord, Lease, LedgerEntry, LogHead, OpenUndoing, QuestionFilter, QuestionRecord,
    RunFilter,
};

pub(crate) use runs::{all_runs, runs};
pub(crate) use uses::uses;

/// Stands for the invocation of a file whose bytes were forgotten and which is due for deletion.
pub(crate) const GONE: &str = "-";

/// The entries after a sequence number.
pub(crate) fn entries(
    db: &Connection,
    after: Option<u64>,
    most: usize,
) -> Result<Vec<LedgerEntry>> {
    let after = after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX));
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let text = "SELECT seq, line FROM entries WHERE seq > ?1 ORDER BY seq LIMIT ?2";
    db.prepare_cached(text)?.query_map([after, most], entry)?.collect()
}

const STORY: &str = "SELECT seq, line FROM entries WHERE invocation = ?1 ORDER BY seq";

const PACKED: &str = "SELECT seq, blobs FROM entries
    WHERE invocation IS ?1 AND blobs IS NOT NULL ORDER BY seq";

/// The entries of an invocation.
pub(crate) fn story(db: &Connection, id: &InvocationId) -> Result<Vec<LedgerEntry>> {
    db.prepare_cached(STORY)?.query_map([id.as_str()], entry)?.collect()
}

fn entry(row: &Row<'_>) -> Result<LedgerEntry> {
    Ok(LedgerEntry { seq: row.get::<_, i64>(0)? as u64, line: row.get(1)? })
}

/// Sequence number of the last entry.
pub(crate) fn last(db: &Connection) -> Result<Option<u64>> {
    let text = "SELECT max(seq) FROM entries";
    let last: Option<i64> = db.prepare_cached(text)?.query_row([], |row| row.get(0))?;
    Ok(last.and_then(|last| u64::try_from(last).ok()))
}

/// The inline payloads of an invocation; an empty id stands for the workspace.
pub(crate) fn packed(db: &Connection, id: &InvocationId) -> Result<Vec<(i64, Vec<u8>)>> {
    let id = Some(id.as_str()).filter(|id| !id.is_empty());
    db.prepare_cached(PACKED)?.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Whether a payload of an invocation lies in a file, and whether it is sealed there.
pub(crate) fn in_file(db: &Connection, id: &InvocationId, digest: &Digest) -> Result<Option<bool>> {
    let text = "SELECT sealed FROM files WHERE digest = ?1 AND invocation = ?2 LIMIT 1";
    db.prepare_cached(text)?.query_row([digest.as_str(), id.as_str()], |row| row.get(0)).optional()
}

/// Every payload in a file: its invocation, its digest, and whether it is sealed.
pub(crate) fn files(db: &Connection) -> Result<Vec<(String, Digest, bool)>> {
    let text = "SELECT invocation, digest, sealed FROM files WHERE invocation <> ?1";
    let mut statement = db.prepare(text)?;
    let file = |row: &Row<'_>| {
        let digest = Digest::from(row.get::<_, String>(1)?.as_str());
        Ok((row.get(0)?, digest, row.get(2)?))
    };
    statement.query_map([GONE], file)?.collect()
}

/// Questions, oldest first.
pub(crate) fn questions(db: &Connection, filter: &QuestionFilter) -> Result<Vec<QuestionRecord>> {
    let mut text = "SELECT question, state, id FROM questions".to_owned();
    let mut values = Vec::new();
    let index = if filter.id.is_some() {
        ""
    } else if filter.invocation.is_some() {
        " INDEXED BY questions_of"
    } else if filter.open {
        " INDEXED BY questions_open"
    } else {
        ""
    };
    text.push_str(index);
    text.push_str(" WHERE 1");
    let mut only = |column: &str, value: Option<&str>| {
        if let Some(value) = value {
            text.push_str(&format!(" AND {column} = ?"));
            values.push(Value::Text(value.to_owned()));
        }
    };
    only("id", filter.id.as_ref().map(|id| id.as_str()));
    only("invocation", filter.invocation.as_ref().map(|id| id.as_str()));
    only("tenant", filter.tenant.as_deref());
    if filter.open {
        text.push_str(" AND state = 'open'");
    }
    text.push_str(" ORDER BY number");
    let mut statement = db.prepare_cached(&text)?;
    let found = statement.query_map(params_from_iter(values), |row| {
        let id: String = row.get(2)?;
        Ok(QuestionRecord {
            question: json(row, 0)?,
            state: word(row, 1, QuestionState::parse)?,
            answers: answers(db, &id)?,
        })
    })?;
    found.collect()
}

fn answers(db: &Connection, question: &str) -> Result<Vec<ApprovalAnswer>> {
    let text = "SELECT answer FROM answers WHERE question = ?1 ORDER BY number";
    db.prepare_cached(text)?.query_map([question], |row| json(row, 0))?.collect()
}

/// The standing answers.
pub(crate) fn standing(db: &Connection, tenant: Option<&str>) -> Result<Vec<StandingAnswer>> {
    let text = "SELECT answer FROM standing WHERE ?1 IS NULL OR tenant = ?1 ORDER BY id";
    db.prepare_cached(text)?.query_map([tenant], |row| json(row, 0))?.collect()
}

/// The tokens that were not revoked.
pub(crate) fn tokens(db: &Connection) -> Result<Vec<Token>> {
    let text = "SELECT token FROM tokens ORDER BY id";
    db.prepare_cached(text)?.query_map([], |row| json(row, 0))?.collect()
}

/// The token with this hash.
pub(crate) fn token(db: &Connection, hash: &Digest) -> Result<Option<Token>> {
    let text = "SELECT token FROM tokens WHERE hash = ?1";
    db.prepare_cached(text)?.query_row([hash.as_str()], |row| json(row, 0)).optional()
}

/// The declarations on record.
pub(crate) fn declared(db: &Connection) -> Result<Vec<(String, Digest)>> {
    let text = "SELECT tool, digest FROM declared";
    let pair = |row: &Row<'_>| Ok((row.get(0)?, Digest::from(row.get::<_, String>(1)?.as_str())));
    db.prepare_cached(text)?.query_map([], pair)?.collect()
}

/// The intents with a key, by lookup key, and the entries that bound them.
pub(crate) fn intents(db: &Connection) -> Result<BTreeMap<[u8; 16], u64>> {
    let bound = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64));
    db.prepare("SELECT intent, seq FROM intents")?.query_map([], bound)?.collect()
}

/// Statements for intents without and with a key. Every write runs one, and SQLite prepares a
/// combined statement anew for every value.
const UNANSWERED: &str = "SELECT seq FROM unanswered WHERE intent = ?1";
const INTENT: &str = "SELECT seq FROM intents WHERE intent = ?1";

/// The last entry that bound an intent. The row of an earlier call without a key goes with that
/// call's delivery, and does not count any more.
pub(crate) fn bound_at(db: &Connection, intent: &Digest, source: KeySource) -> Result<Option<i64>> {
    let text = match source {
        KeySource::Intent => UNANSWERED,
        KeySource::Caller | KeySource::Contract => INTENT,
    };
    let mut statement = db.prepare_cached(text)?;
    let rows = statement.query_map([found_by(intent)], |row| row.get::<_, i64>(0))?;
    rows.into_iter().try_fold(None, |last, seq| Ok(last.max(Some(seq?))))
}

/// An intent with its call and lease.
pub(crate) fn intent(
    db: &Connection,
    intent: &Digest,
    source: KeySource,
) -> Result<Option<IntentRecord>> {
    let Some(seq) = bound_at(db, intent, source)? else { return Ok(None) };
    let Some((id, intent)) = bound_by(db, seq)? else { return Ok(None) };
    let filter = RunFilter { id: Some(id.clone()), ..RunFilter::default() };
    let Some(run) = runs(db, &filter)?.pop() else { return Ok(None) };
    let text = "SELECT owner, until, token, boot, up FROM leases WHERE invocation = ?1";
    let lease = |row: &Row<'_>| {
        let fence = Fence(row.get::<_, i64>(2)? as u64);
        let boot = row.get::<_, Option<String>>(3)?.zip(row.get::<_, Option<i64>>(4)?);
        let boot =
            boot.map(|(id, up)| BootTime { id: id.into(), micros: u64::try_from(up).unwrap_or(0) });
        let until = DualTime { at: time(1, row.get(1)?)?, boot };
        Ok(Lease { owner: row.get(0)?, until, fence })
    };
    let lease = db.prepare_cached(text)?.query_row([id.as_str()], lease).optional()?;
    Ok(Some(IntentRecord { intent, run, lease }))
}

/// The intent that an entry bound to its call.
fn bound_by(db: &Connection, seq: i64) -> Result<Option<(InvocationId, Intent)>> {
    let text = "SELECT line FROM entries WHERE seq = ?1";
    let line: String = db.prepare_cached(text)?.query_row([seq], |row| row.get(0))?;
    let line = EntryLine::parse(&line).map_err(|fault| unreadable(0, Box::new(fault)))?;
    let intents = line.facts.into_iter().rev().filter_map(|fact| match fact.event {
        Event::IntentBound(intent) => Some(*intent),
        _ => None,
    });
    Ok(line.invocation.zip(intents.into_iter().next()))
}

/// The open compensations.
pub(crate) fn undoings(db: &Connection) -> Result<Vec<OpenUndoing>> {
    let text = "SELECT original, undoing FROM undoings ORDER BY original";
    let id = |row: &Row<'_>, column| {
        row.get::<_, String>(column).map(|id| InvocationId::from(id.as_str()))
    };
    let open = |row: &Row<'_>| Ok(OpenUndoing { original: id(row, 0)?, by: id(row, 1)? });
    db.prepare_cached(text)?.query_map([], open)?.collect()
}

/// A JSON column.
fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|fault| unreadable(column, Box::new(fault)))
}

/// A column that holds an enum's word.
fn word<T>(row: &Row<'_>, column: usize, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
    let text: String = row.get(column)?;
    parse(&text).ok_or_else(|| unreadable(column, format!("`{text}` is no word we know").into()))
}

fn effect(row: &Row<'_>, column: usize) -> Result<EffectState> {
    word(row, column, EffectState::parse)
}

/// A nanosecond column.
fn time(column: usize, nanos: i64) -> Result<Timestamp> {
    Timestamp::from_nanosecond(i128::from(nanos))
        .map_err(|fault| unreadable(column, fault.to_string().into()))
}

fn unreadable(column: usize, why: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why)
}

/// The furthest signed head.
pub(crate) fn signed_head(db: &Connection) -> Result<Option<LogHead>> {
    let text = "SELECT head FROM heads ORDER BY seq DESC LIMIT 1";
    let found: Option<String> = db.prepare_cached(text)?.query_row([], |r| r.get(0)).optional()?;
    let parsed = found.map(|text| serde_json::from_str::<SignedHead>(&text)).transpose();
    let signed = parsed.map_err(|fault| super::payloads::fault(fault.to_string()))?;
    Ok(signed.map(|signed| LogHead { seq: signed.head.seq, hash: signed.head.hash }))
}
