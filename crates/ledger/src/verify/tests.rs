//! Forgery tests: forgeries that a log reveals by itself, and those that only a pinned key or head
//! reveals.

use std::fs;
use std::path::Path;

use haft_model::{Event, Fact, Note, Timestamp, canonical};
use haft_testkit::Folder;

use super::{Pins, verify_folder_against};
use crate::chain::{Head, Loose};
use crate::signed_checkpoint::{HEAD, KEYS, Signer};
use crate::{Draft, LogHead};

/// A log of notes, as lines, with the head after each of them.
fn log(words: &str, length: usize, key: Option<&str>) -> Vec<(String, Head)> {
    let mut links: Vec<(String, Head)> = Vec::new();
    for number in 0..length {
        let before = links.last().map(|(_, head)| head.clone());
        let key = key.filter(|_| number == 0);
        links.push(linked(&format!("{words} {number}"), before.as_ref(), key));
    }
    links
}

/// A note linked after a head, which may name a key.
fn linked(text: &str, before: Option<&Head>, key: Option<&str>) -> (String, Head) {
    let event = Event::Note(Note { text: text.to_owned() });
    let facts = vec![Fact { at: Timestamp::UNIX_EPOCH, phases: Vec::new(), event }];
    let mut draft = Draft { facts, ..Draft::default() };
    Loose::of(&mut draft).unwrap().link(before, key)
}

/// Writes lines, and a signed checkpoint.
fn exported(folder: &Path, links: &[(String, Head)], signed: Option<(&Signer, &Head)>) {
    let lines: String = links.iter().map(|(line, _)| format!("{line}\n")).collect();
    fs::write(folder.join("audit-log.jsonl"), lines).unwrap();
    match signed {
        Some((signer, head)) => {
            fs::write(folder.join(HEAD), canonical(&signer.sign(head))).unwrap();
        }
        None => fs::remove_file(folder.join(HEAD)).unwrap_or_default(),
    }
}

#[test]
fn forged_logs_are_told_by_what_was_pinned() {
    let [ours, theirs] = [Folder::new(), Folder::new()];
    let [signer, thief] = [&ours, &theirs].map(|f| Signer::load_or_make(f.path()).unwrap());
    let genuine = log("note", 6, Some(signer.fingerprint()));
    let [early, last] = [2, 5].map(|at: usize| genuine.get(at).unwrap().1.clone());
    let seen = LogHead { seq: last.seq, hash: last.hash.clone() };
    let own_keys = fs::read(ours.path().join(KEYS)).unwrap();
    let their_keys = fs::read(theirs.path().join(KEYS)).unwrap();
    let disguised = {
        let text = String::from_utf8(their_keys.clone()).unwrap();
        let id = |signer: &Signer| signer.fingerprint().chars().take(16).collect::<String>();
        text.replace(&id(&thief), &id(&signer)).into_bytes()
    };
    let rewritten = log("lie", 6, Some(thief.fingerprint()));
    let lie = rewritten.last().unwrap().1.clone();

    let none = Pins::default();
    let key = Pins { keys: vec![signer.fingerprint().to_owned()], ..Pins::default() };
    let short = Pins { keys: vec![signer.fingerprint()[..16].to_owned()], ..Pins::default() };
    let head = Pins { heads: vec![seen], ..Pins::default() };
    let check = |what: &str, pins: &Pins, expected: &[&str]| {
        let found = verify_folder_against(ours.path(), pins);
        let codes: Vec<&str> = found.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, expected, "{what}: {:?}", found.findings);
    };

    exported(ours.path(), &genuine, Some((&signer, &last)));
    for pins in [&none, &key, &short, &head] {
        check("untouched", pins, &[]);
    }
    // Cut back to a head that was signed once.
    exported(ours.path(), genuine.get(..3).unwrap(), Some((&signer, &early)));
    check("cut", &none, &[]);
    check("cut", &key, &[]);
    check("cut", &head, &["chain.rolled_back"]);
    // The same log signed again with another key, openly and under the name of the first.
    exported(ours.path(), &genuine, Some((&thief, &last)));
    fs::write(ours.path().join(KEYS), &their_keys).unwrap();
    check("signed again", &none, &["head.resigned"]);
    check("signed again", &key, &["key.foreign", "head.resigned"]);
    fs::write(ours.path().join(KEYS), &disguised).unwrap();
    check("disguised", &none, &["head.missing", "head.unsigned"]);
    // Another log by another key: only pins reveal it.
    exported(ours.path(), &rewritten, Some((&thief, &lie)));
    fs::write(ours.path().join(KEYS), &their_keys).unwrap();
    check("rewritten", &none, &[]);
    check("rewritten", &key, &["key.foreign"]);
    check("rewritten", &head, &["chain.rolled_back"]);
    // The genuine log with an added entry that names the attacker's key, and a checkpoint by that
    // key.
    let mut hijacked = genuine.clone();
    let naming = linked("one more", Some(&last), Some(thief.fingerprint()));
    let stolen = naming.1.clone();
    hijacked.push(naming);
    exported(ours.path(), &hijacked, Some((&thief, &stolen)));
    let both = Pins {
        keys: [&signer, &thief].map(|signer| signer.fingerprint().to_owned()).to_vec(),
        ..Pins::default()
    };
    check("hijacked", &none, &["key.changed"]);
    check("hijacked", &key, &["key.foreign", "key.changed"]);
    check("hijacked", &both, &[]);
    // An empty log.
    fs::write(ours.path().join(KEYS), &own_keys).unwrap();
    exported(ours.path(), &[], None);
    check("emptied", &none, &["head.missing"]);
    check("emptied", &key, &["head.missing"]);
    check("emptied", &head, &["chain.rolled_back"]);
}
