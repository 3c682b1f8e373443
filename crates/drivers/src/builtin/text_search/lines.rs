//! Line matching: the lines of one file that match a pattern.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use haft_model::Stop;
use haft_notation::SearchPattern;

use crate::watch::Watch;

/// Bytes that are sampled to tell text from binary files.
const SAMPLE: usize = 8 * 1024;

/// Longest line in bytes; a longer one is searched in pieces.
const LONGEST: u64 = 1024 * 1024;

/// Most characters of a line that are shown.
const SHOWN: usize = 500;

/// Lines between two cancellation checks.
const BREATH: u64 = 1024;

/// The matches of one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileMatches {
    /// Line number and text of each match.
    pub(super) lines: Vec<(u64, String)>,
    /// Whether there are more matches than asked for.
    pub(super) more: bool,
    /// How many bytes were read.
    pub(super) bytes: u64,
}

/// The first `most` matching lines; none for a file that is binary or unreadable.
pub(super) fn matching(
    file: File,
    pattern: &SearchPattern,
    most: usize,
    watch: &Watch,
) -> Result<Option<FileMatches>, Stop> {
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    match reader.fill_buf() {
        Ok(start) if !start.iter().take(SAMPLE).any(|byte| *byte == 0) => {}
        Ok(_) | Err(_) => return Ok(None),
    }
    let mut found = FileMatches::default();
    let mut piece = Vec::new();
    let mut line = 1;
    let mut listed = 0;
    for turn in 0_u64.. {
        piece.clear();
        let read = reader.by_ref().take(LONGEST).read_until(b'\n', &mut piece);
        let Ok(count @ 1..) = read else { break };
        found.bytes += count as u64;
        if turn % BREATH == 0 {
            watch.check()?;
        }
        let text = String::from_utf8_lossy(&piece);
        let text = text.trim_end_matches(['\n', '\r']);
        if listed != line && pattern.finds(text) {
            if found.lines.len() == most {
                found.more = true;
                break;
            }
            found.lines.push((line, text.chars().take(SHOWN).collect()));
            listed = line;
        }
        line += u64::from(piece.ends_with(b"\n"));
    }
    Ok(Some(found))
}
