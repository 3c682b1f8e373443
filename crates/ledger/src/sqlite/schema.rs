//! Schema migrations: the tables, their versions, and how connections are opened.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::busy::Busy;

/// Each migration takes the schema from the previous version to its own, which is its position from
/// 1.
const MIGRATIONS: [&str; 6] = [
    "
    CREATE TABLE entries(
        seq INTEGER PRIMARY KEY, line TEXT NOT NULL, invocation TEXT, blobs BLOB);
    CREATE INDEX entries_of ON entries(invocation, seq);

    -- `seq` is that of the entry with which the call came in, so the order is that of the log.
    CREATE TABLE runs(
        seq INTEGER PRIMARY KEY, invocation TEXT NOT NULL UNIQUE, tool TEXT NOT NULL,
        name TEXT NOT NULL, actor TEXT NOT NULL, tenant TEXT NOT NULL, status TEXT NOT NULL,
        effect TEXT NOT NULL, code TEXT, approval TEXT, created INTEGER NOT NULL, ended INTEGER);
    CREATE INDEX runs_name ON runs(name);
    CREATE INDEX runs_actor ON runs(actor);
    CREATE INDEX runs_tenant ON runs(tenant);
    CREATE INDEX runs_open ON runs(seq) WHERE ended IS NULL;
    CREATE INDEX runs_ill ON runs(status) WHERE ended IS NOT NULL AND status <> 'succeeded';
    CREATE INDEX runs_unknown ON runs(seq) WHERE effect = 'unknown';
    CREATE INDEX runs_since ON runs(created, tenant, actor, tool);

    CREATE TABLE questions(
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, invocation TEXT NOT NULL,
        tenant TEXT NOT NULL, state TEXT NOT NULL, expires INTEGER NOT NULL,
        question TEXT NOT NULL);
    CREATE INDEX questions_open ON questions(number) WHERE state = 'open';
    CREATE INDEX questions_of ON questions(invocation);
    CREATE TABLE answers(
        number INTEGER PRIMARY KEY, question TEXT NOT NULL, person TEXT NOT NULL,
        answer TEXT NOT NULL);
    CREATE INDEX answers_of ON answers(question);

    CREATE TABLE standing(
        id TEXT PRIMARY KEY, tenant TEXT NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE declared(tool TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID;

    -- What follows is in no fact.
    CREATE TABLE leases(
        invocation TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL,
        token INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX leases_of ON leases(owner);
    CREATE TABLE files(
        digest TEXT NOT NULL, sealed INTEGER NOT NULL, invocation TEXT NOT NULL,
        PRIMARY KEY(digest, sealed, invocation)) WITHOUT ROWID;
    CREATE TABLE heads(seq INTEGER PRIMARY KEY, head TEXT NOT NULL);
    CREATE TABLE marks(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
",
    "
    -- Each intent under a key, with the last entry that bound it; what it is bound to stands there.
    -- The keys lie in no order, so every row costs a page, and short rows are few pages.
    CREATE TABLE intents(intent BLOB PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
    -- Intents without a key, for as long as nobody has the answer. In no list that follows from facts:
    -- whether an answer was handed over is no fact. A short table, so that writing to it is cheap.
    CREATE TABLE unanswered(
        invocation TEXT PRIMARY KEY, intent BLOB NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX unanswered_of ON unanswered(intent, seq);
    -- Each attempt that reached a driver. `place` tells those of one entry apart.
    CREATE TABLE uses(
        seq INTEGER NOT NULL, place INTEGER NOT NULL, invocation TEXT NOT NULL,
        attempt INTEGER NOT NULL, at INTEGER NOT NULL, tool TEXT NOT NULL, driver TEXT NOT NULL,
        actor TEXT NOT NULL, tenant TEXT NOT NULL, charge TEXT, PRIMARY KEY(seq, place))
        WITHOUT ROWID;
    CREATE INDEX uses_since ON uses(at, tenant, actor);
    CREATE TABLE undoings(original TEXT PRIMARY KEY, undoing TEXT NOT NULL) WITHOUT ROWID;
    DROP INDEX runs_since;
",
    "
    -- Tokens that are in force. Every request asks for one by its hash.
    CREATE TABLE tokens(
        id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, token TEXT NOT NULL) WITHOUT ROWID;
",
    "
    -- `store` is what the store is called, and `key` the key that the log last named. In no fact.
    CREATE TABLE identity(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
",
    "
    -- The end of a lease since the boot of its machine, which no clock that is set moves.
    ALTER TABLE leases ADD COLUMN boot TEXT;
    ALTER TABLE leases ADD COLUMN up INTEGER;
",
    "
    -- Signed heads are append-only. The last trigger is for REPLACE, which fires no other.
    CREATE TRIGGER heads_no_update BEFORE UPDATE ON heads
        BEGIN SELECT RAISE(ABORT, 'signed heads are append-only'); END;
    CREATE TRIGGER heads_no_delete BEFORE DELETE ON heads
        BEGIN SELECT RAISE(ABORT, 'signed heads are append-only'); END;
    CREATE TRIGGER heads_no_replace BEFORE INSERT ON heads
        WHEN EXISTS(SELECT 1 FROM heads WHERE seq = NEW.seq)
        BEGIN SELECT RAISE(IGNORE); END;
",
];

/// The SQL of every table and index of a store, by name.
pub(crate) fn texts(db: &Connection) -> rusqlite::Result<BTreeMap<String, Option<String>>> {
    // Planner statistics are excluded, and a table that was renamed and back has its name quoted.
    let text = "SELECT name, replace(sql, '\"', '') FROM sqlite_schema
        WHERE name NOT LIKE 'sqlite_stat%'";
    db.prepare(text)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// The same for a fresh schema of this version.
pub(crate) fn expected_texts() -> rusqlite::Result<BTreeMap<String, Option<String>>> {
    let db = Connection::open_in_memory()?;
    MIGRATIONS.iter().try_for_each(|text| db.execute_batch(text))?;
    texts(&db)
}

/// The schema version that this code works with.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// The writing connection; creates or migrates the tables.
pub(crate) fn writer(db: &Path, busy: &Busy) -> Result<Connection, String> {
    busy.patiently(|| {
        let mut connection = Connection::open_with_flags(
            db,
            OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        busy.queue_up(&mut connection)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        // Forgotten bytes are overwritten and not merely freed.
        connection.pragma_update(None, "secure_delete", "ON")?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    })
    .map_err(|fault| fault.to_string())
    .and_then(migrated)
}

fn migrated(mut connection: Connection) -> Result<Connection, String> {
    let failed = |fault: rusqlite::Error| fault.to_string();
    let now = version(&connection).map_err(failed)?;
    if now > VERSION {
        return Err(format!("its tables are of version {now}, and this haft knows {VERSION}"));
    }
    if now < VERSION {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        // Another process may have migrated meanwhile.
        let done = usize::try_from(version(&transaction).map_err(failed)?).unwrap_or(0);
        for text in MIGRATIONS.iter().skip(done) {
            transaction.execute_batch(text).map_err(failed)?;
        }
        if done == 1 {
            super::apply::listed_again(&transaction).map_err(failed)?;
        }
        transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    Ok(connection)
}

/// A reading connection.
pub(crate) fn reader(db: &Path, busy: &Busy) -> rusqlite::Result<Connection> {
    busy.patiently(|| {
        let mut connection = Connection::open_with_flags(
            db,
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        busy.queue_up(&mut connection)?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(connection)
    })
}

/// The schema version of a store.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Checkpoints and truncates the write-ahead log, unless a reader is in the way.
pub(crate) fn empty_log(connection: &mut Connection, busy: &Busy) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::from_millis(100))?;
    let emptied = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    busy.queue_up(connection)?;
    emptied
}
