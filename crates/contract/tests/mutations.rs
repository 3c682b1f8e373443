//! Nothing panics on input: good documents, broken in many small ways, are all read to an answer.

#![expect(clippy::indexing_slicing, reason = "every index is drawn from the length")]

use std::path::Path;

use haft_contract::{Report, Source, read, settings};

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

/// Every document is read as each of these.
const NAMES: [&str; 7] =
    ["TOOL.md", "DRIVER.md", "CLI.md", "POLICY.md", "GOVERNANCE.md", "SECRETS.md", "x.tool.json"];

#[test]
fn a_broken_document_is_answered_and_never_a_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/rules/bases");
    let asked = std::env::var("HAFT_MUTATIONS").ok().and_then(|times| times.parse().ok());
    let mut documents: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
    documents.sort_by_key(std::fs::DirEntry::path);
    assert!(documents.len() > 10);
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for document in documents {
        let text = std::fs::read_to_string(document.path()).unwrap();
        for _ in 0..asked.unwrap_or(TIMES) {
            answered(&broken(&text, &mut chance));
        }
    }
}

/// Reads a text as everything; each place named lies inside it.
fn answered(bytes: &[u8]) {
    for name in NAMES {
        let (source, report) = Source::from_bytes(name, bytes.to_vec(), 1 << 20);
        let reading = read(&source, report);
        let outside = reading.diagnostics.iter().find(|found| found.span.end > bytes.len());
        assert!(outside.is_none(), "{outside:?}");
    }
    let (source, report) = Source::from_bytes("haft.toml", bytes.to_vec(), 1 << 20);
    if !Report::has_errors(&report) {
        settings::read(&source);
    }
}

/// A text with one to four wounds.
fn broken(text: &str, chance: &mut Chance) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=chance.below(3) {
        let at = chance.below(bytes.len());
        let end = (at + chance.below(40)).min(bytes.len());
        match chance.below(5) {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let copy = bytes[at..end].to_vec();
                let to = chance.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            2 => {
                let splinter = SPLINTERS[chance.below(SPLINTERS.len())];
                bytes.splice(at..at, splinter.bytes());
            }
            3 => bytes[at] = bytes[at].wrapping_add(1),
            _ => {
                let rest = bytes[at..].iter().position(|byte| *byte == b'\n');
                let line = rest.map_or(at, |length| at + length);
                let indent = [b"\n".to_vec(), b" ".repeat(chance.below(6))].concat();
                bytes.splice(line..line, indent);
            }
        }
        if bytes.is_empty() {
            bytes.push(b'-');
        }
    }
    bytes
}

/// The same numbers in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}
