//! Payload sweep: deletes the files of forgotten payloads after the deletion is on record, and
//! retries after an interruption.
//!
//! INVARIANT: the record precedes the deletion; the other order would lose a file whose record
//! could then not be written.

use haft_model::Digest;
use rusqlite::{Connection, params};

use crate::sqlite::busy::Busy;
use crate::sqlite::lists::GONE;
use crate::sqlite::payloads::{PayloadFolder, fault};

const MARK: &str = "forgetting";

/// Marks a file for deletion, in the transaction of its record.
pub(super) fn doom(db: &Connection, digest: &Digest, sealed: bool) -> rusqlite::Result<()> {
    let text = "INSERT OR IGNORE INTO files(digest, sealed, invocation) VALUES (?1, ?2, ?3)";
    db.prepare_cached(text)?.execute(params![digest.as_str(), sealed, GONE])?;
    db.execute("INSERT OR IGNORE INTO marks(name, value) VALUES (?1, 1)", [MARK]).map(|_rows| ())
}

/// Deletes the marked files. No entry can begin to need one of them meanwhile, because that takes a
/// transaction too.
pub(super) fn sweep(db: &Connection, files: &PayloadFolder, busy: &Busy) -> rusqlite::Result<()> {
    if !db.prepare_cached("SELECT 1 FROM marks WHERE name = ?1")?.exists([MARK])? {
        return Ok(());
    }
    busy.patiently(|| db.execute_batch("BEGIN IMMEDIATE"))?;
    let swept = swept(db, files).and_then(|()| db.execute_batch("COMMIT"));
    if swept.is_err() {
        // SQLite may have rolled back already, and then reports an error.
        drop(db.execute_batch("ROLLBACK"));
    }
    swept
}

fn swept(db: &Connection, files: &PayloadFolder) -> rusqlite::Result<()> {
    let mut statement = db.prepare(
        "SELECT digest, sealed, EXISTS(SELECT 1 FROM files AS other WHERE other.digest = files.digest
             AND other.sealed = files.sealed AND other.invocation <> ?1)
         FROM files WHERE invocation = ?1",
    )?;
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let doomed: rusqlite::Result<Vec<(String, bool, bool)>> =
        statement.query_map([GONE], row)?.collect();
    for (digest, sealed, needed) in doomed? {
        if !needed {
            let removed = files.remove(&Digest::from(digest.as_str()), sealed);
            removed.map_err(|cause| fault(cause.to_string()))?;
        }
    }
    db.execute("DELETE FROM files WHERE invocation = ?1", [GONE])?;
    db.execute("DELETE FROM marks WHERE name = ?1", [MARK]).map(|_rows| ())
}
