//! Taking files away whose bytes were forgotten: after that is on record, and again where it was
//! interrupted. A file that went first would be missing where the record then could not be written.

use haft_model::Digest;
use rusqlite::{Connection, params};

use crate::sqlite::busy::Busy;
use crate::sqlite::lists::GONE;
use crate::sqlite::payloads::{PayloadFolder, fault};

const MARK: &str = "forgetting";

/// Notes that a file has to go, together with the record of it.
pub(super) fn doom(db: &Connection, digest: &Digest, sealed: bool) -> rusqlite::Result<()> {
    let text = "INSERT OR IGNORE INTO files(digest, sealed, invocation) VALUES (?1, ?2, ?3)";
    db.prepare_cached(text)?.execute(params![digest.as_str(), sealed, GONE])?;
    db.execute("INSERT OR IGNORE INTO marks(name, value) VALUES (?1, 1)", [MARK]).map(|_rows| ())
}

/// Takes the files away that have to go, if there are any. Nothing can begin to need one of them
/// meanwhile, because that takes a transaction too.
pub(super) fn sweep(db: &Connection, files: &PayloadFolder, busy: &Busy) -> rusqlite::Result<()> {
    if !db.prepare_cached("SELECT 1 FROM marks WHERE name = ?1")?.exists([MARK])? {
        return Ok(());
    }
    busy.patiently(|| db.execute_batch("BEGIN IMMEDIATE"))?;
    let swept = swept(db, files).and_then(|()| db.execute_batch("COMMIT"));
    if swept.is_err() {
        // SQLite may have rolled back already, and then says so.
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
