//! Store verification: checks pages, chain, payloads, checkpoints and projections of a store on
//! disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use haft_model::{Digest, InvocationId};
use haft_seal::Seal;
use rusqlite::Connection;

use super::chain::ChainWalk;
use super::{Finding, Pins, Verification};
use crate::line::EntryLine;
use crate::projections::{Changes, Projections};
use crate::signed_checkpoint::{HEAD, Keyring, SignedHead};
use crate::sqlite::busy::Busy;
use crate::sqlite::payloads::{PayloadFolder, SEAL, StoredBytes, unpack};
use crate::sqlite::{SqliteOptions, found_by, identity, lists, schema};

/// Verifies a store: SQLite's own pages, every link of the chain, every payload, the checkpoints,
/// and whether the lists match the log. Other processes may write to it meanwhile.
pub fn verify_store(options: &SqliteOptions) -> Verification {
    verify_store_against(options, &Pins::default())
}

/// The same, checked against pins.
pub fn verify_store_against(options: &SqliteOptions, pins: &Pins) -> Verification {
    let corrupt = |what: String| Verification {
        findings: vec![Finding::of_all("store.corrupt", what)],
        ..Verification::default()
    };
    if !options.db.is_file() {
        return corrupt(format!("there is no store at `{}`", options.db.display()));
    }
    // Read before the log, which can only be longer by then.
    let (heads, unreadable) = published_head(&options.folder());
    let opened = schema::reader(&options.db, &Busy::default()).and_then(|db| {
        db.execute_batch("BEGIN")?;
        Ok(db)
    });
    match opened {
        Ok(db) => Check::new(&db, options, (heads, unreadable), pins).run(),
        Err(fault) => corrupt(format!("the store cannot be opened: {fault}")),
    }
}

/// The published checkpoint of a folder, and a finding about its file.
pub(super) fn published_head(folder: &Path) -> (Vec<SignedHead>, Option<Finding>) {
    let Ok(bytes) = fs::read(folder.join(HEAD)) else { return (Vec::new(), None) };
    match serde_json::from_slice(&bytes) {
        Ok(signed) => (vec![signed], None),
        Err(fault) => {
            let message = format!("`{HEAD}` cannot be read: {fault}");
            (Vec::new(), Some(Finding::of_all("head.unsigned", message)))
        }
    }
}

struct Check<'a> {
    db: &'a Connection,
    files: PayloadFolder,
    seal: Option<Seal>,
    walk: ChainWalk,
    state: Projections,
    /// Expected payload files: invocation and digest.
    filed: BTreeSet<(String, Digest)>,
    /// Missing payloads, and the last entry that named each.
    missing: BTreeMap<(String, Digest), u64>,
}

impl<'a> Check<'a> {
    fn new(
        db: &'a Connection,
        options: &SqliteOptions,
        (mut heads, unreadable): (Vec<SignedHead>, Option<Finding>),
        pins: &Pins,
    ) -> Check<'a> {
        let folder = options.folder();
        let stored = signed_heads(db);
        let problem = stored.as_ref().err().map(ToString::to_string);
        heads.extend(stored.unwrap_or_default());
        let mut walk = ChainWalk::new(heads, &Keyring::load(&folder), pins);
        pins.check_store(identity::store(db).ok().flatten().as_deref(), &mut walk.found);
        let problem = problem.map(|what| Finding::of_all("store.corrupt", what));
        unreadable.into_iter().chain(problem).for_each(|finding| walk.report(finding));
        Check {
            db,
            files: PayloadFolder::new(&options.payloads),
            seal: Seal::load(&folder.join(SEAL)).ok(),
            walk,
            state: Projections::default(),
            filed: BTreeSet::new(),
            missing: BTreeMap::new(),
        }
    }

    fn run(mut self) -> Verification {
        self.check_pages();
        if let Err(fault) = self.check_entries() {
            self.corrupt(format!("the log cannot be read to its end: {fault}"));
        }
        for ((_, digest), seq) in std::mem::take(&mut self.missing) {
            let message =
                format!("the payload `{digest}` is gone, and no entry records its removal");
            self.walk.report(Finding::at("payload.missing", seq, message));
        }
        self.walk.end();
        // Lists are derived from entries: with wrong entries there is nothing to compare with.
        if self.walk.found.is_sound() {
            self.check_lists();
        }
        self.walk.found
    }

    fn corrupt(&mut self, what: String) {
        self.walk.report(Finding::of_all("store.corrupt", what));
    }

    /// The schema's SQL decides how everything else is read, and no entry covers it.
    fn check_texts(&mut self) {
        match (schema::texts(self.db), schema::expected_texts()) {
            (Ok(found), Ok(expected)) => {
                let differs = |name: &&String| found.get(*name) != expected.get(*name);
                if let Some(name) = found.keys().chain(expected.keys()).find(differs) {
                    self.corrupt(format!("`{name}` is not a table of version {}", schema::VERSION));
                }
            }
            (Err(fault), _) | (_, Err(fault)) => self.corrupt(fault.to_string()),
        }
    }

    fn check_pages(&mut self) {
        match schema::version(self.db) {
            Ok(schema::VERSION) => self.check_texts(),
            Ok(other) => self.corrupt(format!("the tables are of version {other}")),
            Err(fault) => self.corrupt(fault.to_string()),
        }
        let complaints = self.db.prepare("PRAGMA integrity_check(20)").and_then(|mut statement| {
            statement
                .query_map([], |row| row.get::<_, String>(0))?
                .collect::<rusqlite::Result<Vec<_>>>()
        });
        match complaints {
            Ok(lines) => {
                for line in lines.into_iter().filter(|line| line != "ok") {
                    self.corrupt(line);
                }
            }
            Err(fault) => self.corrupt(fault.to_string()),
        }
    }

    fn check_entries(&mut self) -> rusqlite::Result<()> {
        let db = self.db;
        let mut statement =
            db.prepare("SELECT seq, line, invocation, blobs FROM entries ORDER BY seq")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let seq = u64::try_from(row.get::<_, i64>(0)?).unwrap_or(u64::MAX);
            let text = row.get_ref(1)?;
            let line = text.as_bytes_or_null().ok().flatten().unwrap_or_default();
            let line = self.walk.take(Some(seq), line);
            let id = row.get_ref(2)?.as_bytes_or_null().ok().flatten().map(<[u8]>::to_vec);
            let packed = row.get_ref(3)?.as_bytes_or_null().ok().flatten().unwrap_or_default();
            if let Some(line) = line {
                self.take(&line, id.as_deref(), packed);
            }
        }
        Ok(())
    }

    fn take(&mut self, line: &EntryLine, stored_under: Option<&[u8]>, packed: &[u8]) {
        let id = line.invocation.as_ref().map(InvocationId::as_str);
        if stored_under != id.map(str::as_bytes) {
            let message = "it is filed under another invocation than its own";
            self.walk.report(Finding::at("lists.differ", line.seq, message));
        }
        self.check_payloads(line, id.unwrap_or_default(), packed);
        if let Some(digest) = &line.forgot {
            let key = (id.unwrap_or_default().to_owned(), digest.clone());
            self.missing.remove(&key);
            self.filed.remove(&key);
        }
        let changes = Changes::of(line.invocation.as_ref(), &line.facts);
        self.state.apply(line.seq, line.invocation.as_ref(), &changes);
    }

    fn check_payloads(&mut self, line: &EntryLine, id: &str, packed: &[u8]) {
        let seq = line.seq;
        let Some(inline) = unpack(packed) else {
            let message = "the payloads in its row are damaged";
            self.walk.report(Finding::at("payload.changed", seq, message));
            return;
        };
        let mut inline: BTreeMap<Digest, StoredBytes> =
            inline.into_iter().map(|stored| (stored.digest.clone(), stored)).collect();
        for digest in &line.kept {
            let stored = match inline.remove(digest) {
                Some(stored) => Some(stored),
                None => self.in_file(id, digest),
            };
            let Some(stored) = stored else {
                self.missing.insert((id.to_owned(), digest.clone()), seq);
                continue;
            };
            if stored.opened(self.seal.as_ref()).is_none() {
                let message = format!("the payload `{digest}` is not what was stored");
                self.walk.report(Finding::at("payload.changed", seq, message));
            }
        }
        for digest in inline.keys() {
            let message = format!("the payload `{digest}` did not come with the entry");
            self.walk.report(Finding::at("payload.stray", seq, message));
        }
    }

    fn in_file(&mut self, id: &str, digest: &Digest) -> Option<StoredBytes> {
        let found = |sealed| self.files.read(digest, sealed).ok().flatten();
        let stored = found(false).or_else(|| found(true));
        if stored.is_some() {
            self.filed.insert((id.to_owned(), digest.clone()));
        }
        stored
    }

    /// Compares the file list with the expected files.
    fn check_files(&mut self) -> rusqlite::Result<bool> {
        let mut listed = BTreeSet::new();
        for (id, digest, sealed) in lists::files(self.db)? {
            if !self.files.has(&digest, sealed) {
                return Ok(false);
            }
            listed.insert((id, digest));
        }
        Ok(listed == self.filed)
    }

    /// Compares the intent list with the entries that bound them.
    fn check_intents(&mut self) -> rusqlite::Result<bool> {
        let bound = self.state.intents.iter().map(|(intent, bound)| (found_by(intent), bound.seq));
        Ok(lists::intents(self.db)? == bound.collect())
    }

    /// Compares the lists with the projections of the log.
    fn check_lists(&mut self) {
        let stored = stored_state(self.db);
        let checked =
            stored.and_then(|stored| Ok((stored, self.check_files()?, self.check_intents()?)));
        match checked {
            Ok((stored, same_files, same_intents)) => {
                let files = (!same_files).then_some("files");
                let intents = (!same_intents).then_some("intents");
                let lists = differences(&stored, &self.state);
                for what in lists.into_iter().chain(files).chain(intents) {
                    let message = format!("the {what} are not those that follow from the log");
                    self.walk.report(Finding::of_all("lists.differ", message));
                }
            }
            Err(fault) => {
                let message = format!("the lists cannot be read: {fault}");
                self.walk.report(Finding::of_all("lists.differ", message));
            }
        }
    }
}

fn differences(stored: &Projections, rebuilt: &Projections) -> Vec<&'static str> {
    let pairs = [
        (stored.runs == rebuilt.runs, "runs"),
        (stored.questions == rebuilt.questions, "questions"),
        (stored.standing == rebuilt.standing, "standing answers"),
        (stored.tokens == rebuilt.tokens, "tokens"),
        (stored.declared == rebuilt.declared, "declarations"),
        (stored.undoings == rebuilt.undoings, "open undoings"),
        (stored.uses == rebuilt.uses, "attempts that limits count"),
    ];
    pairs.into_iter().filter(|(same, _)| !same).map(|(_, what)| what).collect()
}

/// The lists as the tables have them.
fn stored_state(db: &Connection) -> rusqlite::Result<Projections> {
    let runs = lists::all_runs(db)?;
    let questions = lists::questions(db, &crate::QuestionFilter::default())?;
    let mut state = Projections::with(runs, questions);
    let standing = lists::standing(db, None)?;
    state.standing = standing.into_iter().map(|answer| (answer.id.clone(), answer)).collect();
    let tokens = lists::tokens(db)?.into_iter();
    state.tokens = tokens.map(|token| (token.id.clone(), token)).collect();
    state.declared = lists::declared(db)?.into_iter().collect();
    let undoings = lists::undoings(db)?.into_iter();
    state.undoings = undoings.map(|open| (open.original, open.by)).collect();
    state.uses = lists::uses::all(db)?;
    Ok(state)
}

/// The checkpoints in the store itself.
fn signed_heads(db: &Connection) -> rusqlite::Result<Vec<SignedHead>> {
    let mut statement = db.prepare("SELECT head FROM heads ORDER BY seq")?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
    let text = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let parsed = text.iter().map(|text| serde_json::from_str(text));
    parsed
        .collect::<Result<Vec<_>, _>>()
        .map_err(|fault| rusqlite::Error::ToSqlConversionFailure(Box::new(fault)))
}
