//! Corpus tests: every target holds for its corpus and for random mutations of good documents.

#![expect(clippy::unwrap_used, reason = "tests may fail")]

use std::path::{Path, PathBuf};

use haft_fuzz::{TARGETS, manifest};
use haft_testkit::SeededRandom;

/// How often each document is broken; `HAFT_MUTATIONS` asks for more.
const TIMES: usize = 100;

/// Bits of text that have hurt readers before.
const SPLINTERS: [&str; 23] = [
    "---\n",
    ": ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "&a ",
    "*a",
    "!x ",
    "|\n",
    "#",
    "\t",
    "\u{0}",
    "\u{feff}",
    "é",
    "💥",
    "${",
    "~",
    "-9223372036854775808",
    "1e999",
];

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_target_holds_for_its_corpus() {
    for (name, target) in TARGETS {
        let corpus = files(&here("corpus").join(name));
        assert!(corpus.len() >= 12, "the corpus of {name} has {} files", corpus.len());
        for file in corpus {
            eprintln!("{}", file.display());
            target(&std::fs::read(file).unwrap());
        }
    }
}

#[test]
fn every_target_has_a_file_for_the_fuzzer() {
    let files = files(&here("targets/fuzz_targets"));
    let names: Vec<_> =
        files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, TARGETS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

#[test]
fn every_target_holds_for_random_mutations_of_its_corpus() {
    let mut random = SeededRandom::new(7);
    for (name, target) in TARGETS {
        for file in files(&here("corpus").join(name)) {
            let bytes = std::fs::read(file).unwrap();
            (0..8).for_each(|_| target(&broken(&bytes, &mut random)));
        }
    }
}

#[test]
fn a_broken_document_is_answered_and_never_a_panic() {
    let asked = std::env::var("HAFT_MUTATIONS").ok().and_then(|times| times.parse().ok());
    let documents = files(&here("../fixtures/rules/bases"));
    assert!(documents.len() > 10);
    let mut random = SeededRandom::new(1);
    for document in documents {
        let bytes = std::fs::read(document).unwrap();
        for _ in 0..asked.unwrap_or(TIMES) {
            manifest(&broken(&bytes, &mut random));
        }
    }
}

/// The bytes with one to four wounds.
fn broken(bytes: &[u8], random: &mut SeededRandom) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        let end = (at + random.below(40)).min(bytes.len());
        match random.below(5) {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let copy: Vec<u8> = bytes.iter().take(end).skip(at).copied().collect();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            2 => {
                let splinter = random.choose(&SPLINTERS);
                bytes.splice(at..at, splinter.bytes());
            }
            3 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = byte.wrapping_add(1)),
            _ => {
                let rest = bytes.iter().skip(at).position(|byte| *byte == b'\n');
                let line = rest.map_or(at, |length| at + length);
                let indent = [b"\n".to_vec(), b" ".repeat(random.below(6))].concat();
                bytes.splice(line..line, indent);
            }
        }
        if bytes.is_empty() {
            bytes.push(b'-');
        }
    }
    bytes
}
