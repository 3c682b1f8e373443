//! Store identity: a random permanent name, and the signing key that the log names.

use haft_seal::{generate, hex};
use rusqlite::{Connection, OptionalExtension, params};

const STORE: &str = "store";
const KEY: &str = "key";

/// The store's name; `None` where it has none yet.
pub(crate) fn store(db: &Connection) -> rusqlite::Result<Option<String>> {
    value(db, STORE)
}

/// The store's name. A store without one gets one, the same for all concurrent callers.
pub(super) fn store_or_new(db: &Connection) -> Result<String, String> {
    let failed = |fault: rusqlite::Error| fault.to_string();
    if let Some(name) = store(db).map_err(failed)? {
        return Ok(name);
    }
    let name: String =
        hex(&generate().map_err(|fault| fault.to_string())?).chars().take(32).collect();
    let text = "INSERT OR IGNORE INTO identity(name, value) VALUES (?1, ?2)";
    db.execute(text, params![STORE, name]).map_err(failed)?;
    Ok(store(db).map_err(failed)?.unwrap_or(name))
}

/// The key that the log last named.
pub(super) fn key(db: &Connection) -> rusqlite::Result<Option<String>> {
    value(db, KEY)
}

/// Records that the log names a key.
pub(super) fn set_key(db: &Connection, key: &str) -> rusqlite::Result<()> {
    let text = "INSERT OR REPLACE INTO identity(name, value) VALUES (?1, ?2)";
    db.execute(text, params![KEY, key]).map(|_rows| ())
}

fn value(db: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    let text = "SELECT value FROM identity WHERE name = ?1";
    db.prepare_cached(text)?.query_row([name], |row| row.get(0)).optional()
}
