//! Percent-encoded secrets: finds a secret with any subset of its bytes encoded, in either case, up
//! to three times over.
//!
//! The forms are too many to list, so the search decodes the text along the secret, byte by byte,
//! in every possible reading.

use std::ops::Range;

use super::WITHHELD;

/// Greatest number of nested encodings.
const DEEPEST: u32 = 3;

/// Redacts an encoded value and returns the count; `None` if the text does not contain it.
pub(super) fn without(text: &str, value: &str) -> Option<(String, u64)> {
    let mut found = find(text, value, 0)?;
    let (mut clean, mut count, mut from) = (String::with_capacity(text.len()), 0, 0);
    loop {
        clean.push_str(text.get(from..found.start).unwrap_or_default());
        clean.push_str(WITHHELD);
        (count, from) = (count + 1, found.end);
        match find(text, value, from) {
            Some(next) => found = next,
            None => break,
        }
    }
    clean.push_str(text.get(from..).unwrap_or_default());
    Some((clean, count))
}

/// Returns true if a text contains the encoded value.
pub(super) fn holds(text: &str, value: &str) -> bool {
    find(text, value, 0).is_some()
}

/// Range of the first match from `from` on.
fn find(text: &str, value: &str, from: usize) -> Option<Range<usize>> {
    let (text, value) = (text.as_bytes(), value.as_bytes());
    let is_encoded = text.contains(&b'%') || value.contains(&b' ') && text.contains(&b'+');
    if value.is_empty() || !is_encoded {
        return None;
    }
    let mut room = (Vec::new(), Vec::new());
    (from..text.len()).find_map(|start| Some(start..end(text, value, start, &mut room)?))
}

/// End of a match that starts at `start`.
fn end(
    text: &[u8],
    value: &[u8],
    start: usize,
    (here, next): &mut (Vec<usize>, Vec<usize>),
) -> Option<usize> {
    here.clear();
    here.push(start);
    for byte in value {
        next.clear();
        for at in here.iter() {
            ends(text, *at, *byte, DEEPEST, next);
        }
        std::mem::swap(here, next);
        if here.is_empty() {
            return None;
        }
        // Several readings may end at the same offset.
        here.sort_unstable();
        here.dedup();
    }
    here.last().copied()
}

/// Collects every offset at which one byte, plain or encoded, may end.
fn ends(text: &[u8], at: usize, byte: u8, depth: u32, found: &mut Vec<usize>) {
    let Some(letter) = text.get(at) else { return };
    // Form encoding writes a space as a plus, which may be encoded itself.
    if *letter == byte || byte == b' ' && *letter == b'+' {
        found.push(at + 1);
    }
    // Every nested encoding starts with a percent sign.
    if depth == 0 || *letter != b'%' {
        return;
    }
    let mut starts = Vec::new();
    ends(text, at, b'%', depth - 1, &mut starts);
    let spellings = [Some(byte), (byte == b' ').then_some(b'+')];
    for start in starts {
        for spelled in spellings.into_iter().flatten() {
            let mut halves = Vec::new();
            for digit in digits(spelled >> 4) {
                ends(text, start, digit, depth - 1, &mut halves);
            }
            for half in halves {
                for digit in digits(spelled & 15) {
                    ends(text, half, digit, depth - 1, found);
                }
            }
        }
    }
}

/// Hexadecimal digits of half a byte, in both cases.
fn digits(half: u8) -> impl Iterator<Item = u8> {
    let (small, large) = match half {
        0..=9 => (b'0' + half, None),
        _ => (b'a' + half - 10, Some(b'A' + half - 10)),
    };
    std::iter::once(small).chain(large)
}

#[cfg(test)]
mod tests;
