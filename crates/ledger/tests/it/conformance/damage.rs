//! Damage tests: verification finds each defect of a store or an exported log, at the right entry.

use std::fs;
use std::path::Path;

use haft_ledger::{
    Draft, Finding, Pins, SqliteOptions, SqliteStore, Store, StoreMemo, Verification, Wait, export,
    rebuild_store, verify_folder, verify_store, verify_store_against,
};
use haft_model::{Digest, Event, Note};
use haft_testkit::Folder;
use rusqlite::Connection;
use serde_json::Value;

use crate::conformance::cases::add;
use crate::sample::*;

/// Verifies a store that must be sound.
pub(crate) fn sound(options: &SqliteOptions) -> Verification {
    let found = verify_store(options);
    assert!(found.is_sound(), "{:?}", found.findings);
    found
}

/// The findings, without their messages.
fn short(findings: &[Finding]) -> Vec<(&str, Option<u64>)> {
    findings.iter().map(|finding| (finding.code, finding.seq)).collect()
}

fn found(options: &SqliteOptions) -> Vec<(&'static str, Option<u64>)> {
    verify_store(options).findings.iter().map(|finding| (finding.code, finding.seq)).collect()
}

/// A closed store with six entries, payloads of every kind among them.
async fn filled(folder: &Folder) -> SqliteOptions {
    let options = SqliteOptions { inline: 200, ..SqliteOptions::at(folder.path()) };
    let store = SqliteStore::open(options.clone()).unwrap();
    add(&store, beginning(1, 0)).await;
    add(&store, asking(2, 5, 900)).await;
    let blobs = vec![
        blob(&"plain ".repeat(50), false),
        blob(&"sealed ".repeat(50), true),
        blob("small and sealed", true),
    ];
    add(&store, Draft { blobs, ..draft(1, vec![submitted(6)]) }).await;
    add(&store, end(1, 10)).await;
    let note = fact(20, Event::Note(Note { text: "all is well".to_owned() }));
    add(&store, Draft { facts: vec![note], ..Draft::default() }).await;
    add(&store, whole(3, 30)).await;
    store.close().await.unwrap();
    sound(&options);
    options
}

fn db(options: &SqliteOptions) -> Connection {
    Connection::open(&options.db).unwrap()
}

/// Removes checkpoints as a forger does who restores the triggers afterwards.
fn without_heads(db: &Connection, which: &str) {
    let triggers = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'";
    let mut triggers = db.prepare(triggers).unwrap();
    let triggers = triggers.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let triggers: Vec<(String, String)> = triggers.map(Result::unwrap).collect();
    triggers
        .iter()
        .for_each(|(name, _)| db.execute_batch(&format!("DROP TRIGGER {name}")).unwrap());
    db.execute_batch(&format!("DELETE FROM heads {which}")).unwrap();
    triggers.iter().for_each(|(_, text)| db.execute_batch(text).unwrap());
}

fn line(db: &Connection, seq: u64) -> String {
    db.query_row("SELECT line FROM entries WHERE seq = ?1", [seq as i64], |row| row.get(0)).unwrap()
}

fn put_line(db: &Connection, seq: u64, line: &[u8]) {
    let text = "UPDATE entries SET line = CAST(?2 AS TEXT) WHERE seq = ?1";
    assert_eq!(db.execute(text, rusqlite::params![seq as i64, line]).unwrap(), 1);
}

#[tokio::test]
async fn flipped_byte_in_line_is_reported_at_its_entry() {
    let folder = Folder::new();
    let options = filled(&folder).await;
    let db = db(&options);
    for seq in 0..6 {
        let whole = line(&db, seq);
        for place in (0..whole.len()).step_by(197) {
            let mut bytes = whole.clone().into_bytes();
            bytes[place] ^= 1 << (place % 8);
            put_line(&db, seq, &bytes);
            assert_eq!(found(&options), [("chain.tampered", Some(seq))], "byte {place}");
        }
        put_line(&db, seq, whole.as_bytes());
    }
    sound(&options);
}

#[tokio::test]
async fn a_removed_entry_is_found() {
    for seq in [0, 3] {
        let folder = Folder::new();
        let options = filled(&folder).await;
        db(&options).execute("DELETE FROM entries WHERE seq = ?1", [seq as i64]).unwrap();
        assert_eq!(found(&options), [("chain.seq_gap", Some(seq))]);
    }
}

#[tokio::test]
async fn rewritten_entry_breaks_hash_chain_after_it() {
    let folder = Folder::new();
    let options = filled(&folder).await;
    let db = db(&options);
    let forged = |seq: u64| {
        let mut value: Value = serde_json::from_str(&line(&db, seq)).unwrap();
        value["actor"]["id"] = "agent:eve".into();
        value.as_object_mut().unwrap().remove("hash");
        let hash = Digest::of(&value);
        value["hash"] = hash.as_str().trim_start_matches("sha256:").into();
        put_line(&db, seq, &haft_model::canonical(&value));
    };
    forged(2);
    assert_eq!(found(&options), [("chain.broken", Some(3))]);
    forged(5);
    let last = ("chain.tampered", Some(5));
    assert_eq!(found(&options)[1..], [last], "the end was signed");
}

#[tokio::test]
async fn a_cut_tail_is_found_by_the_signed_end() {
    let folder = Folder::new();
    let options = filled(&folder).await;
    let cut = db(&options);
    cut.execute_batch("DELETE FROM entries WHERE seq > 3").unwrap();
    without_heads(&cut, "WHERE seq > 3");
    let findings = verify_store(&options).findings;
    assert_eq!(short(&findings), [("chain.truncated", Some(4))]);
    assert_eq!(findings[0].message, "entries 4 to 5 were cut off");

    // An unsigned head does not hide it.
    let head = folder.path().join("audit-head.json");
    let text = fs::read_to_string(&head).unwrap();
    let mut forged: Value = serde_json::from_str(&text).unwrap();
    let hash: Value = serde_json::from_str(&line(&cut, 3)).unwrap();
    forged["seq"] = 3.into();
    forged["hash"] = hash["hash"].clone();
    fs::write(&head, forged.to_string()).unwrap();
    assert_eq!(found(&options), [("head.unsigned", Some(3))]);
    fs::write(&head, "{").unwrap();
    assert_eq!(found(&options), [("head.unsigned", None)]);

    // Nor does it help to remove every checkpoint.
    fs::remove_file(&head).unwrap();
    without_heads(&cut, "");
    assert_eq!(found(&options), [("head.missing", None)]);
}

#[tokio::test]
async fn dropped_trigger_of_signed_heads_is_found() {
    for trigger in ["heads_no_update", "heads_no_delete", "heads_no_replace"] {
        let folder = Folder::new();
        let options = filled(&folder).await;
        db(&options).execute_batch(&format!("DROP TRIGGER {trigger}")).unwrap();
        assert_eq!(found(&options), [("store.corrupt", None)], "{trigger}");
    }
}

#[tokio::test]
async fn second_signing_key_is_found_unless_pinned() {
    let folder = Folder::new();
    let options = filled(&folder).await;
    let [first] = <[String; 1]>::try_from(sound(&options).keys).unwrap();
    fs::remove_file(folder.path().join("audit.key")).unwrap();
    let store = SqliteStore::open(options.clone()).unwrap();
    let second = store.key().to_owned();
    add(&store, whole(7, 40)).await;
    store.close().await.unwrap();
    assert_eq!(found(&options), [("key.changed", Some(6))]);
    let pinned = |keys: &[&String]| {
        let keys = keys.iter().map(|key| key.to_string()).collect();
        let found = verify_store_against(&options, &Pins { keys, ..Pins::default() });
        found.findings.iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    assert_eq!(pinned(&[&first]), ["key.foreign", "key.changed"]);
    assert_eq!(pinned(&[&first, &second]), [""; 0]);
    rebuild_store(&options).unwrap();
}

#[tokio::test]
async fn checkpoint_is_remembered_on_close_unless_log_was_cut() {
    let folder = Folder::new();
    let options = filled(&folder).await;
    let memo = folder.path().join("memo.json");
    let read = || StoreMemo::read(&memo).unwrap().unwrap();
    let grown = async |number| {
        let store = SqliteStore::open(options.clone()).unwrap();
        store.remember_in(memo.clone());
        add(&store, whole(number, 40)).await;
        let name = store.identity().to_owned();
        store.close().await.unwrap();
        name
    };
    // A memo covers neither an unknown workspace nor another store.
    let store = grown(7).await;
    assert_eq!(StoreMemo::read(&memo).unwrap(), None);
    let mut first = StoreMemo {
        workspace: "/at/home".to_owned(),
        store: "another".to_owned(),
        since: at(0),
        head: None,
        keys: Vec::new(),
    };
    first.write(&memo).unwrap();
    grown(8).await;
    assert_eq!(read(), first);
    first.store = store;
    first.write(&memo).unwrap();
    grown(9).await;
    let last = sound(&options).last;
    assert_eq!(read().head, last);
    // A log that was cut and grew again does not pass for the one that was seen.
    let cut = db(&options);
    cut.execute_batch("DELETE FROM entries WHERE seq > 3").unwrap();
    without_heads(&cut, "WHERE seq > 3");
    for number in 20..40 {
        grown(number).await;
    }
    assert_eq!(read().head, last);
    let found = verify_store_against(&options, &Pins::remembered(&read()));
    assert!(found.findings.iter().any(|one| one.code == "chain.rolled_back"), "{found:?}");
}

#[tokio::test]
async fn a_changed_payload_is_found_at_its_entry() {
    let folder = Folder::new();
    let options = filled(&folder).await;
    let db = db(&options);
    for seq in [0, 2, 5] {
        let text = "SELECT blobs FROM entries WHERE seq = ?1";
        let packed: Vec<u8> = db.query_row(text, [seq as i64], |row| row.get(0)).unwrap();
        let mut changed = packed.clone();
        *changed.last_mut().unwrap() ^= 1;
        let text = "UPDATE entries SET blobs = ?2 WHERE seq = ?1";
        db.execute(text, rusqlite::params![seq as i64, changed]).unwrap();
        assert_eq!(found(&options), [("payload.changed", Some(seq))]);
        db.execute(text, rusqlite::params![seq as i64, packed]).unwrap();
    }
    for file in files(&options.payloads) {
        let bytes = fs::read(&file).unwrap();
        let mut changed = bytes.clone();
        changed[77] ^= 1;
        fs::write(&file, changed).unwrap();
        assert_eq!(found(&options), [("payload.changed", Some(2))], "{}", file.display());
        fs::remove_file(&file).unwrap();
        assert_eq!(found(&options), [("payload.missing", Some(2))]);
        fs::write(&file, bytes).unwrap();
    }
    sound(&options);
}

#[tokio::test]
async fn what_was_forgotten_on_purpose_is_not_missing() {
    let folder = Folder::new();
    let options = filled(&folder).await;
    let store = SqliteStore::open(options.clone()).unwrap();
    for text in ["plain ".repeat(50), "sealed ".repeat(50), "small and sealed".to_owned()] {
        assert!(store.forget(&id(1), &Digest::of_bytes(text.as_bytes())).await.unwrap());
    }
    // Other processes may verify while the store is open.
    assert_eq!(sound(&options).entries, 9);
    assert_eq!(files(&options.payloads), Vec::<std::path::PathBuf>::new());
    store.close().await.unwrap();
    sound(&options);
}

#[tokio::test]
async fn projections_that_differ_from_log_are_reported() {
    let folder = Folder::new();
    let options = filled(&folder).await;
    let db = db(&options);
    for (change, back) in [
        (
            "UPDATE runs SET status = 'failed' WHERE seq = 0",
            "UPDATE runs SET status = 'succeeded' WHERE seq = 0",
        ),
        ("UPDATE questions SET state = 'approved'", "UPDATE questions SET state = 'open'"),
        ("INSERT INTO declared VALUES ('a@1', 'sha256:0')", "DELETE FROM declared"),
        ("INSERT INTO intents VALUES (zeroblob(16), 0)", "DELETE FROM intents"),
        ("INSERT INTO tokens VALUES ('tok_1', 'x', '{}')", "DELETE FROM tokens"),
        ("INSERT INTO undoings VALUES ('inv_00000001', 'inv_00000002')", "DELETE FROM undoings"),
        (
            "UPDATE runs SET status = 'lost' WHERE seq = 0",
            "UPDATE runs SET status = 'succeeded' WHERE seq = 0",
        ),
    ] {
        db.execute_batch(change).unwrap();
        assert_eq!(found(&options), [("lists.differ", None)], "{change}");
        db.execute_batch(back).unwrap();
    }
    db.execute_batch("UPDATE entries SET invocation = 'inv_x' WHERE seq = 5").unwrap();
    assert_eq!(found(&options), [("lists.differ", Some(5))]);
}

#[tokio::test]
async fn lists_that_were_lost_follow_from_the_log_again() {
    let folder = Folder::new();
    let options = filled(&folder).await;
    let before = dump(&options).unwrap();
    let db = db(&options);
    for list in [
        "runs",
        "questions",
        "answers",
        "standing",
        "tokens",
        "declared",
        "intents",
        "files",
        "uses",
    ] {
        db.execute_batch(&format!("DELETE FROM {list}")).unwrap();
    }
    db.execute_batch("UPDATE entries SET invocation = NULL").unwrap();
    assert_ne!(dump(&options).unwrap(), before);
    assert_eq!(rebuild_store(&options).unwrap(), 6);
    assert_eq!(dump(&options).unwrap(), before);
    sound(&options);
    // A second rebuild changes nothing.
    assert_eq!(rebuild_store(&options).unwrap(), 6);
    assert_eq!(dump(&options).unwrap(), before);
}

#[tokio::test]
async fn rebuild_refuses_log_with_broken_hash_chain() {
    let folder = Folder::new();
    let options = filled(&folder).await;
    db(&options).execute_batch("DELETE FROM entries WHERE seq = 3").unwrap();
    let before = dump(&options);
    let fault = rebuild_store(&options).unwrap_err().to_string();
    assert!(fault.contains("nothing follows from a log that does not hold"), "{fault}");
    assert_eq!(dump(&options), before);
}

/// Everything readable in the store.
fn dump(options: &SqliteOptions) -> Option<Vec<String>> {
    let db = Connection::open(&options.db).ok()?;
    let mut all = Vec::new();
    for table in [
        "entries",
        "runs",
        "questions",
        "answers",
        "standing",
        "tokens",
        "declared",
        "intents",
        "files",
        "heads",
    ] {
        let mut statement = db.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")).ok()?;
        let columns = statement.column_count();
        let mut rows = statement.query([]).ok()?;
        while let Some(row) = rows.next().ok()? {
            let values: Vec<_> = (0..columns).map(|at| format!("{:?}", row.get_ref(at))).collect();
            all.push(values.join("|"));
        }
    }
    Some(all)
}

#[tokio::test]
async fn flipped_file_byte_is_detected_unless_unused() {
    let folder = Folder::new();
    let options = filled(&folder).await;
    let whole = dump(&options).unwrap();
    let bytes = fs::read(&options.db).unwrap();
    let holds_texts = |page: &[u8]| page.windows(7).any(|text| text == b"CREATE ");
    let pages = bytes.chunks(4096).enumerate().filter(|(_, page)| holds_texts(page));
    let texts = pages.flat_map(|(page, _)| page * 4096..(page + 1) * 4096);
    let texts: Vec<usize> = (0..100).chain(texts).collect();
    let mut seed: u64 = 7;
    let mut silent = 0;
    for round in 0..300 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The first hundred hit the header and the schema pages.
        let at = (seed >> 20) as usize;
        let place = if round < 100 { texts[at % texts.len()] } else { at % bytes.len() };
        let mut flipped = bytes.clone();
        flipped[place] ^= 1 << (seed >> 60 & 7);
        for beside in ["ledger.db-wal", "ledger.db-shm"] {
            drop(fs::remove_file(folder.path().join(beside)));
        }
        fs::write(&options.db, flipped).unwrap();
        if verify_store(&options).is_sound() {
            silent += 1;
            assert!(dump(&options).as_ref() == Some(&whole), "byte {place} was changed unseen");
        }
    }
    assert!(silent < 250, "{silent} of 300 bytes were of no use");
}

#[test]
fn invalid_store_file_is_reported_as_corrupt() {
    let folder = Folder::new().file("ledger.db", "this is not a database, whatever its name says");
    let options = SqliteOptions::at(folder.path());
    assert_eq!(found(&options)[0].0, "store.corrupt");
    let empty = Folder::new();
    assert_eq!(found(&SqliteOptions::at(empty.path())), [("store.corrupt", None)]);
    assert!(SqliteStore::open(options).is_err());
}

/// Every file under a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            all.extend(files(&entry.path()));
        } else {
            all.push(entry.path());
        }
    }
    all.sort();
    all
}

fn holding(folder: &Path, text: &str) -> Vec<std::path::PathBuf> {
    let holds = |path: &std::path::PathBuf| {
        fs::read(path).unwrap().windows(text.len()).any(|window| window == text.as_bytes())
    };
    files(folder).into_iter().filter(holds).collect()
}

#[tokio::test]
async fn nothing_sensitive_lies_open_in_any_file() {
    const CANARY: &str = "canary-9f31c7";
    let folder = Folder::new();
    let options = SqliteOptions::at(folder.path());
    let store = SqliteStore::open(options.clone()).unwrap();
    let secrets = vec![blob(CANARY, true), blob(&CANARY.repeat(5000), true)];
    add(&store, Draft { blobs: secrets, ..draft(1, vec![submitted(6)]) }).await;
    add(&store, Draft { blobs: vec![blob("plainly", false)], ..draft(2, vec![submitted(6)]) })
        .await;
    let nowhere = Vec::<std::path::PathBuf>::new();
    assert_eq!(holding(folder.path(), CANARY), nowhere);
    assert!(!holding(folder.path(), "plainly").is_empty(), "what is open is found this way");
    store.close().await.unwrap();
    assert_eq!(holding(folder.path(), CANARY), nowhere);

    // Without the key no payload opens, and that is a finding.
    let key = folder.path().join("seal.key");
    fs::rename(&key, folder.path().join("elsewhere")).unwrap();
    assert_eq!(found(&options), [("payload.changed", Some(0)), ("payload.changed", Some(0))]);
    let store = SqliteStore::open(options).unwrap();
    let fault = store.payload(&id(1), &Digest::of_bytes(CANARY.as_bytes())).await.unwrap_err();
    assert!(!fault.to_string().contains(CANARY));
}

#[tokio::test]
async fn what_is_forgotten_lies_in_no_file() {
    const TEXT: &str = "to be forgotten 4711";
    let folder = Folder::new();
    let store = SqliteStore::open(SqliteOptions::at(folder.path())).unwrap();
    let small = blob(TEXT, false);
    let large = blob(&TEXT.repeat(3000), false);
    let blobs = vec![small.clone(), large.clone()];
    add(&store, Draft { blobs, ..draft(1, vec![submitted(6)]) }).await;
    assert!(!holding(folder.path(), TEXT).is_empty());
    for blob in [small, large] {
        assert!(store.forget(&id(1), &blob.digest).await.unwrap());
    }
    assert_eq!(holding(folder.path(), TEXT), Vec::<std::path::PathBuf>::new());
    store.close().await.unwrap();
}

#[tokio::test]
async fn an_exported_log_is_checked_byte_for_byte() {
    let folder = Folder::new();
    let options = filled(&folder).await;
    let store = SqliteStore::open(options).unwrap();
    let out = Folder::new();
    assert_eq!(export(&store, out.path()).await.unwrap(), 6);
    let whole = verify_folder(out.path());
    assert_eq!((whole.entries, &whole.findings), (6, &Vec::new()));
    let entries = store.entries(None, 10).await.unwrap();
    let text: String = entries.iter().map(|entry| format!("{}\n", entry.line)).collect();
    assert_eq!(out.read("audit-log.jsonl"), text);

    let log = out.path().join("audit-log.jsonl");
    let seq_of = |place: usize| Some(text[..place].matches('\n').count() as u64);
    for place in (0..text.len()).step_by(151) {
        let mut bytes = text.clone().into_bytes();
        bytes[place] ^= 4;
        fs::write(&log, &bytes).unwrap();
        let findings = verify_folder(out.path()).findings;
        // A changed byte of the number itself breaks the sequence after it as well.
        let first = short(&findings).into_iter().next();
        assert_eq!(first, Some(("chain.tampered", seq_of(place))), "byte {place}");
    }
    let lines: Vec<_> = text.lines().collect();
    let without = |gone: usize| -> String {
        let kept = lines.iter().zip(0..).filter(|(_, at)| *at != gone);
        kept.map(|(line, _)| format!("{line}\n")).collect()
    };
    for (changed, expected) in [
        (without(2), vec![("chain.seq_gap", Some(2))]),
        (without(5), vec![("chain.truncated", Some(5))]),
        (text.trim_end().to_owned(), vec![("chain.truncated", None)]),
        (String::new(), vec![("chain.truncated", Some(0))]),
    ] {
        fs::write(&log, changed).unwrap();
        assert_eq!(short(&verify_folder(out.path()).findings), expected);
    }
    fs::remove_file(&log).unwrap();
    assert_eq!(verify_folder(out.path()).findings[0].code, "store.corrupt");
}

#[tokio::test]
async fn failed_transaction_keeps_nothing_and_later_append_succeeds() {
    let folder = Folder::new();
    let options = SqliteOptions::at(folder.path());
    let store = SqliteStore::open(options.clone()).unwrap();
    add(&store, whole(0, 0)).await;
    let other = db(&options);
    other
        .execute_batch(
            "CREATE TRIGGER full BEFORE INSERT ON entries WHEN NEW.seq = 1
             BEGIN SELECT RAISE(FAIL, 'the disk is full'); END",
        )
        .unwrap();
    let fault = store.append(whole(1, 0), Wait::Disk).await.unwrap_err();
    assert_eq!(fault.to_string(), "cannot write to the store: the disk is full");
    store.append(whole(2, 0), Wait::Queue).await.unwrap();
    let fault = store.flush().await.unwrap_err();
    assert!(fault.to_string().contains("the disk is full"), "{fault}");
    other.execute_batch("DROP TRIGGER full").unwrap();
    store.flush().await.unwrap();
    assert_eq!(add(&store, whole(3, 0)).await, 1);
    store.close().await.unwrap();
    assert_eq!(sound(&options).entries, 2);
}

#[cfg(unix)]
#[tokio::test]
async fn store_folder_is_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    let place = folder.path().join("state");
    SqliteStore::open(SqliteOptions::at(&place)).unwrap().close().await.unwrap();
    assert_eq!(fs::metadata(place).unwrap().permissions().mode() & 0o777, 0o700);
}
