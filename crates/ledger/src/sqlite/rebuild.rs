//! Projection rebuild: recreates the lists from the log, for a store that lost or distrusts them.

use std::collections::BTreeSet;

use haft_model::InvocationId;
use rusqlite::{Connection, TransactionBehavior, params};

use super::busy::Busy;
use super::lists::GONE;
use super::payloads::{PayloadFolder, unpack};
use super::{SqliteOptions, apply, schema};
use crate::Error;
use crate::line::EntryLine;
use crate::projections::Changes;
use crate::verify::verify_store;

/// Every table that is derived from the log.
const LISTS: [&str; 10] = [
    "runs",
    "questions",
    "answers",
    "standing",
    "declared",
    "intents",
    "unanswered",
    "uses",
    "undoings",
    "tokens",
];

/// Rebuilds the lists of a store from its log in one transaction, and returns the number of
/// entries. A log that does not verify is left as it is.
pub fn rebuild_store(options: &SqliteOptions) -> Result<u64, Error> {
    let found = verify_store(options);
    // The lists are derived from the entries, whichever keys signed them.
    let passes = ["lists.differ", "key.changed"];
    if let Some(wrong) = found.findings.iter().find(|finding| !passes.contains(&finding.code)) {
        let cause = format!("nothing follows from a log that does not hold: {}", wrong.message);
        return Err(Error::Unreadable { cause });
    }
    let unwritable = |fault: rusqlite::Error| Error::Unwritable { cause: fault.to_string() };
    let place = || options.db.display().to_string();
    let mut db = schema::writer(&options.db, &Busy::default())
        .map_err(|cause| Error::Unopenable { place: place(), cause })?;
    let step = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(unwritable)?;
    let waiting = unanswered(&step).map_err(unwritable)?;
    emptied(&step).map_err(unwritable)?;
    let entries = listed(&step, &PayloadFolder::new(&options.payloads))?;
    answered(&step, &waiting).map_err(unwritable)?;
    step.commit().map_err(unwritable)?;
    Ok(entries)
}

fn emptied(db: &Connection) -> rusqlite::Result<()> {
    // Pending file deletions are in no fact.
    db.execute("DELETE FROM files WHERE invocation <> ?1", [GONE])?;
    let mut lists = LISTS.iter();
    lists.try_for_each(|list| db.execute_batch(&format!("DELETE FROM {list}")))
}

/// Replays the whole log.
fn listed(db: &Connection, files: &PayloadFolder) -> Result<u64, Error> {
    let unreadable = |fault: rusqlite::Error| Error::Unreadable { cause: fault.to_string() };
    let text = "SELECT seq, line, blobs FROM entries ORDER BY seq";
    let mut statement = db.prepare(text).map_err(unreadable)?;
    let mut rows = statement.query([]).map_err(unreadable)?;
    let mut entries = 0;
    while let Some(row) = rows.next().map_err(unreadable)? {
        let seq: i64 = row.get(0).map_err(unreadable)?;
        let line: String = row.get(1).map_err(unreadable)?;
        let packed: Option<Vec<u8>> = row.get(2).map_err(unreadable)?;
        let line = EntryLine::parse(&line).map_err(|fault| Error::Damaged {
            seq: u64::try_from(seq).unwrap_or_default(),
            what: fault.to_string(),
        })?;
        let changes = Changes::of(line.invocation.as_ref(), &line.facts);
        apply::apply(db, line.seq, line.invocation.as_ref(), &changes)
            .and_then(|()| filed(db, files, &line, packed.as_deref().unwrap_or_default()))
            .and_then(|()| under(db, &line))
            .map_err(|fault| Error::Unwritable { cause: fault.to_string() })?;
        entries += 1;
    }
    Ok(entries)
}

/// Indexes an entry under its invocation.
fn under(db: &Connection, line: &EntryLine) -> rusqlite::Result<()> {
    let text = "UPDATE entries SET invocation = ?2 WHERE seq = ?1 AND invocation IS NOT ?2";
    let id = line.invocation.as_ref().map(InvocationId::as_str);
    db.prepare_cached(text)?.execute(params![line.seq as i64, id]).map(|_rows| ())
}

/// Lists the payloads of an entry that lie in files.
fn filed(
    db: &Connection,
    files: &PayloadFolder,
    line: &EntryLine,
    packed: &[u8],
) -> rusqlite::Result<()> {
    let id = line.invocation.as_ref().map_or("", InvocationId::as_str);
    let inline: BTreeSet<_> =
        unpack(packed).unwrap_or_default().into_iter().map(|stored| stored.digest).collect();
    let text = "INSERT OR IGNORE INTO files(digest, sealed, invocation) VALUES (?1, ?2, ?3)";
    for digest in line.kept.iter().filter(|digest| !inline.contains(*digest)) {
        let found = [false, true].into_iter().find(|sealed| files.has(digest, *sealed));
        if let Some(sealed) = found {
            db.prepare_cached(text)?.execute(params![digest.as_str(), sealed, id])?;
        }
    }
    if let Some(digest) = &line.forgot {
        let text = "DELETE FROM files WHERE digest = ?1 AND invocation = ?2";
        db.prepare_cached(text)?.execute(params![digest.as_str(), id])?;
    }
    Ok(())
}

/// The calls whose results were not delivered, which is in no fact.
fn unanswered(db: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let mut statement = db.prepare("SELECT invocation FROM unanswered")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Among ended calls, keeps only those as undelivered that were known to be.
fn answered(db: &Connection, waiting: &BTreeSet<String>) -> rusqlite::Result<()> {
    let ended = "SELECT invocation FROM unanswered WHERE invocation IN
        (SELECT invocation FROM runs WHERE ended IS NOT NULL)";
    let ended: Vec<String> =
        db.prepare(ended)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let text = "DELETE FROM unanswered WHERE invocation = ?1";
    for id in ended.iter().filter(|id| !waiting.contains(*id)) {
        db.prepare_cached(text)?.execute([id])?;
    }
    Ok(())
}
