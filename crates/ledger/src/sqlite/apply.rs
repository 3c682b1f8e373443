//! Table updates: applies one entry to the tables, and checks its guards against them.

use haft_model::{
    BootTime, Digest, DualTime, EffectState, InvocationId, KeySource, QuestionState, Status,
    Timestamp,
};
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::lists;
use crate::line::EntryLine;
use crate::projections::{Changes, ProjectionChange, RunChange, Start, bare};
use crate::{Disclosure, Guard, OpenUndoing, Run};

/// A time as the tables store it: nanoseconds from 1677 to 2262, saturating beyond.
pub(crate) fn nanos(at: Timestamp) -> i64 {
    let nanos = at.as_nanosecond();
    i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
}

/// Lookup key of an intent in the tables. Half a hash is enough, and keeps rows short.
pub(crate) fn found_by(intent: &Digest) -> [u8; 16] {
    let half = intent.half().or_else(|| Digest::of_bytes(intent.as_str().as_bytes()).half());
    half.unwrap_or_default().to_be_bytes()
}

/// Whether a guard holds for an entry of this invocation.
pub(crate) fn holds(db: &Connection, id: Option<&InvocationId>, guard: &Guard) -> Result<bool> {
    let id = id.map(InvocationId::as_str);
    match guard {
        Guard::Fence(token) => {
            let text = "SELECT 1 FROM leases WHERE invocation = ?1 AND token = ?2";
            db.prepare_cached(text)?.exists(params![id, *token as i64])
        }
        Guard::Unanswered { question, answered_by, at } => {
            let text = "SELECT 1 FROM questions AS q WHERE id = ?1 AND state = 'open'
                AND expires > ?3 AND NOT EXISTS
                (SELECT 1 FROM answers AS a WHERE a.question = q.id AND a.person = ?2)";
            db.prepare_cached(text)?.exists(params![question.as_str(), answered_by, nanos(*at)])
        }
        // A claim checks for itself, in the same transaction.
        Guard::Free => Ok(true),
        Guard::NotEnded => {
            let text = "SELECT 1 FROM runs WHERE invocation = ?1 AND ended IS NOT NULL";
            db.prepare_cached(text)?.exists([id]).map(|ended| !ended)
        }
        Guard::NewDeclaration { tool, digest } => {
            let text = "SELECT 1 FROM declared WHERE tool = ?1 AND digest = ?2";
            db.prepare_cached(text)?.exists([tool, digest.as_str()]).map(|known| !known)
        }
        Guard::Stands(id) => {
            db.prepare_cached("SELECT 1 FROM standing WHERE id = ?1")?.exists([id.as_str()])
        }
        Guard::Issued(id) => {
            db.prepare_cached("SELECT 1 FROM tokens WHERE id = ?1")?.exists([id.as_str()])
        }
        Guard::Intent { intent, source, holder } => {
            let Some(seq) = lists::bound_at(db, intent, *source)? else { return Ok(true) };
            let text = "SELECT invocation FROM entries WHERE seq = ?1";
            let found: Option<String> =
                db.prepare_cached(text)?.query_row([seq], |row| row.get(0))?;
            let holder = holder.as_ref().map(InvocationId::as_str);
            Ok([holder, id].contains(&found.as_deref()))
        }
        Guard::Unchanged(seq) => {
            let text = "SELECT max(seq) FROM entries WHERE invocation = ?1";
            let last: Option<i64> = db.prepare_cached(text)?.query_row([id], |row| row.get(0))?;
            Ok(last.and_then(|last| u64::try_from(last).ok()) == Some(*seq))
        }
    }
}

/// Applies the changes of an entry.
pub(crate) fn apply(
    db: &Connection,
    seq: u64,
    id: Option<&InvocationId>,
    changes: &Changes,
) -> Result<()> {
    if let (Some(id), Some(change)) = (id, &changes.run) {
        let began = match &change.began {
            Some(began) => begin(db, seq, began, change)?,
            None => false,
        };
        if !began {
            go_on(db, id, change)?;
        }
    }
    if let Some(id) = id {
        starts(db, seq, id, &changes.starts)?;
    }
    changes.others.iter().try_for_each(|change| other(db, seq, change))
}

/// Inserts a run, with all changes of its first entry; false when it exists already.
fn begin(db: &Connection, seq: u64, began: &Run, change: &RunChange) -> Result<bool> {
    let mut run = began.clone();
    change.apply(&mut run);
    let text = "INSERT OR IGNORE INTO runs
        (seq, invocation, tool, name, actor, tenant, status, effect, code, approval, created, ended)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    let rows = db.prepare_cached(text)?.execute(params![
        seq as i64,
        run.invocation_id.as_str(),
        run.tool_id,
        bare(&run.tool_id),
        run.actor,
        run.tenant,
        run.status.name(),
        run.effect_state.name(),
        run.error_code.map(|code| code.name()),
        run.approval_id.as_ref().map(|id| id.as_str()),
        nanos(run.created_at),
        run.ended_at.map(nanos),
    ])?;
    Ok(rows > 0)
}

fn go_on(db: &Connection, id: &InvocationId, change: &RunChange) -> Result<()> {
    // A separate statement: setting an indexed column costs even if it stays the same.
    if let Some(tool) = &change.tool {
        let text = "UPDATE runs SET tool = ?2, name = ?3 WHERE invocation = ?1";
        db.prepare_cached(text)?.execute([id.as_str(), tool, bare(tool)])?;
    }
    let text = "UPDATE runs SET
        status = coalesce(?2, status),
        effect = iif(effect = 'committed' AND ?3 IN (
            'none', 'not_submitted', 'submitted', 'unknown', 'not_committed'),
            effect, coalesce(?3, effect)),
        approval = iif(?4, ?5, approval), code = iif(?6, ?7, code), ended = coalesce(?8, ended)
        WHERE invocation = ?1";
    let ended = change.ended.as_ref();
    let nothing = [EffectState::NotSubmitted, EffectState::NotCommitted];
    if ended.is_some() && change.effect.is_some_and(|effect| nothing.contains(&effect)) {
        let text = "DELETE FROM unanswered WHERE invocation = ?1";
        db.prepare_cached(text)?.execute([id.as_str()])?;
    }
    let approval = change.approval.as_ref();
    db.prepare_cached(text)?.execute(params![
        id.as_str(),
        change.status.map(Status::name),
        change.effect.map(EffectState::name),
        approval.is_some(),
        approval.and_then(Option::as_ref).map(|id| id.as_str()),
        ended.is_some(),
        ended.and_then(|ended| ended.code).map(|code| code.name()),
        ended.map(|ended| nanos(ended.at)),
    ])?;
    Ok(())
}

/// Lists attempts with the caller and contract of their run.
fn starts(db: &Connection, seq: u64, id: &InvocationId, starts: &[Start]) -> Result<()> {
    let text = "INSERT INTO uses
        (seq, place, invocation, attempt, at, tool, driver, actor, tenant, charge)
        SELECT ?1, ?2, invocation, ?4, ?5, tool, ?6, actor, tenant, ?7
        FROM runs WHERE invocation = ?3";
    for (place, Start { at, started }) in starts.iter().enumerate() {
        let plain = started.charge.is_plain();
        let charge = (!plain).then(|| json(&started.charge)).transpose()?;
        db.prepare_cached(text)?.execute(params![
            seq as i64,
            place as i64,
            id.as_str(),
            started.attempt,
            nanos(*at),
            started.driver.as_str(),
            charge,
        ])?;
    }
    Ok(())
}

/// Migration: rebuilds the attempts and the open compensations of an older log.
pub(crate) fn listed_again(db: &Connection) -> Result<()> {
    let text = "SELECT seq, line FROM entries WHERE invocation IS NOT NULL ORDER BY seq";
    let mut statement = db.prepare(text)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let line: String = row.get(1)?;
        // An unreadable line is left to verification to report.
        let Ok(line) = EntryLine::parse(&line) else { continue };
        let changes = Changes::of(line.invocation.as_ref(), &line.facts);
        if let Some(id) = &line.invocation {
            starts(db, line.seq, id, &changes.starts)?;
        }
        let undoing = |change: &&ProjectionChange| {
            matches!(change, ProjectionChange::Undoing(_) | ProjectionChange::UndoingOver(_))
        };
        changes.others.iter().filter(undoing).try_for_each(|change| other(db, line.seq, change))?;
    }
    Ok(())
}

fn other(db: &Connection, seq: u64, change: &ProjectionChange) -> Result<()> {
    match change {
        ProjectionChange::Asked(question) => {
            let text = "INSERT OR IGNORE INTO questions
                (id, invocation, tenant, state, expires, question)
                VALUES (?1, ?2, ?3, 'open', ?4, ?5)";
            db.prepare_cached(text)?.execute(params![
                question.id.as_str(),
                question.bound.invocation.as_str(),
                question.bound.tenant,
                nanos(question.expires_at),
                json(question)?,
            ])
        }
        ProjectionChange::Answered(answer) => {
            let known = "SELECT 1 FROM questions WHERE id = ?1";
            if !db.prepare_cached(known)?.exists([answer.question.as_str()])? {
                return Ok(());
            }
            let text = "INSERT INTO answers(question, person, answer) VALUES (?1, ?2, ?3)";
            let person = answer.by.as_str();
            let text_of_it = json(answer)?;
            db.prepare_cached(text)?.execute([answer.question.as_str(), person, &text_of_it])?;
            if answer.approves {
                return Ok(());
            }
            settle(db, answer.question.as_str(), QuestionState::Rejected)
        }
        ProjectionChange::Settled(id, state) => settle(db, id.as_str(), *state),
        ProjectionChange::Stands(answer) => {
            let text = "INSERT OR REPLACE INTO standing(id, tenant, answer) VALUES (?1, ?2, ?3)";
            let text_of_it = json(answer)?;
            db.prepare_cached(text)?.execute([answer.id.as_str(), &answer.tenant, &text_of_it])
        }
        ProjectionChange::Revoked(id) => {
            db.prepare_cached("DELETE FROM standing WHERE id = ?1")?.execute([id.as_str()])
        }
        ProjectionChange::Issued(token) => {
            let text = "INSERT OR REPLACE INTO tokens(id, hash, token) VALUES (?1, ?2, ?3)";
            let text_of_it = json(token)?;
            db.prepare_cached(text)?.execute([token.id.as_str(), token.hash.as_str(), &text_of_it])
        }
        ProjectionChange::TokenRevoked(id) => {
            db.prepare_cached("DELETE FROM tokens WHERE id = ?1")?.execute([id.as_str()])
        }
        ProjectionChange::Declared(tool, digest) => {
            let text = "INSERT OR REPLACE INTO declared(tool, digest) VALUES (?1, ?2)";
            db.prepare_cached(text)?.execute([tool, digest.as_str()])
        }
        ProjectionChange::Bound(id, intent) if intent.source == KeySource::Intent => {
            // The row of an earlier call goes with that call's delivery; the last one counts.
            let text = "INSERT INTO unanswered(invocation, intent, seq) VALUES (?1, ?2, ?3)";
            let row = params![id.as_str(), found_by(&intent.intent), seq as i64];
            db.prepare_cached(text)?.execute(row)
        }
        ProjectionChange::Bound(_, intent) => {
            let text = "INSERT OR REPLACE INTO intents(intent, seq) VALUES (?1, ?2)";
            db.prepare_cached(text)?.execute(params![found_by(&intent.intent), seq as i64])
        }
        ProjectionChange::Undoing(OpenUndoing { original, by }) => {
            let text = "INSERT OR REPLACE INTO undoings(original, undoing) VALUES (?1, ?2)";
            db.prepare_cached(text)?.execute([original.as_str(), by.as_str()])
        }
        ProjectionChange::UndoingOver(OpenUndoing { original, by }) => {
            let text = "DELETE FROM undoings WHERE original = ?1 AND undoing = ?2";
            db.prepare_cached(text)?.execute([original.as_str(), by.as_str()])
        }
    }
    .map(|_rows| ())
}

fn settle(db: &Connection, id: &str, state: QuestionState) -> Result<usize> {
    let text = "UPDATE questions SET state = ?2 WHERE id = ?1 AND state = 'open'";
    db.prepare_cached(text)?.execute([id, state.name()])
}

fn json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|fault| rusqlite::Error::ToSqlConversionFailure(Box::new(fault)))
}

/// Takes a lease; `None` while another owner holds it, and for a call that has ended.
pub(crate) fn lease(
    db: &Connection,
    id: &str,
    owner: &str,
    now: &DualTime,
    until: &DualTime,
) -> Result<Option<u64>> {
    let text = "SELECT 1 FROM leases WHERE invocation = ?1 AND owner <> ?2
            AND CASE WHEN boot = ?4 THEN up > ?5 ELSE until > ?3 END
        UNION ALL SELECT 1 FROM runs WHERE invocation = ?1 AND ended IS NOT NULL";
    let (boot, up) = since_boot(now);
    if db.prepare_cached(text)?.exists(params![id, owner, nanos(now.at), boot, up])? {
        return Ok(None);
    }
    let text = "INSERT INTO marks(name, value) VALUES ('token', 1)
        ON CONFLICT(name) DO UPDATE SET value = value + 1 RETURNING value";
    let token: Option<i64> = db.prepare_cached(text)?.query_row([], |row| row.get(0)).optional()?;
    let token = token.unwrap_or_default();
    let text = "INSERT OR REPLACE INTO leases(invocation, owner, until, token, boot, up)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let (boot, up) = since_boot(until);
    db.prepare_cached(text)?.execute(params![id, owner, nanos(until.at), token, boot, up])?;
    Ok(u64::try_from(token).ok())
}

/// A moment since boot, as the tables store it.
fn since_boot(moment: &DualTime) -> (Option<&str>, Option<i64>) {
    match &moment.boot {
        Some(BootTime { id, micros }) => {
            (Some(id), Some(i64::try_from(*micros).unwrap_or(i64::MAX)))
        }
        None => (None, None),
    }
}

/// Renews a lease if the token still matches, and reports that. It never gets shorter.
pub(crate) fn renew(db: &Connection, id: &str, token: u64, until: &DualTime) -> Result<bool> {
    let text = "UPDATE leases SET until = ?3, boot = ?4, up = ?5
        WHERE invocation = ?1 AND token = ?2
            AND CASE WHEN boot = ?4 THEN up <= ?5 ELSE until <= ?3 END";
    let (boot, up) = since_boot(until);
    let row = params![id, token as i64, nanos(until.at), boot, up];
    if db.prepare_cached(text)?.execute(row)? > 0 {
        return Ok(true);
    }
    let text = "SELECT 1 FROM leases WHERE invocation = ?1 AND token = ?2";
    db.prepare_cached(text)?.exists(params![id, token as i64])
}

/// Releases a lease if the token still matches.
pub(crate) fn release(db: &Connection, id: &str, token: u64, disclosure: Disclosure) -> Result<()> {
    let text = "DELETE FROM leases WHERE invocation = ?1 AND token = ?2";
    let released = db.prepare_cached(text)?.execute(params![id, token as i64])? > 0;
    if !released || disclosure == Disclosure::Unknown {
        return Ok(());
    }
    // A delivered result ends the intent, unless its effect is unknown.
    let text = "DELETE FROM unanswered WHERE invocation = ?1 AND EXISTS (SELECT 1 FROM runs
        WHERE runs.invocation = ?1 AND ended IS NOT NULL AND effect <> 'unknown')";
    db.prepare_cached(text)?.execute([id])?;
    Ok(())
}
