//! Possible commands: every position in a program's arguments at which another command may begin.
//!
//! No table lists all programs that start others, so a deny does not depend on one. Every suffix of
//! the arguments, and every word inside an argument, counts as a command that may start.

use std::collections::BTreeMap;

use haft_model::Glob;
use serde::Serialize;

use super::command::{ProgramFile, base, could_begin};

/// Greatest number of distinct words that are looked up; arguments with more are opaque.
const MOST_WORDS: usize = 4096;

/// Greatest number of bytes that are compared; beyond it a restricting pattern matches.
const MOST_COMPARED: usize = 1 << 20;

/// Greatest length of a program's path, in bytes.
const LONGEST_PATH: usize = 4096;

/// Characters that separate commands in a shell.
const SEPARATORS: [char; 13] = [';', '|', '&', '<', '>', '(', ')', '`', '$', '{', '}', '\n', '\r'];

/// Characters that a shell removes from words.
const QUOTES: [char; 3] = ['\'', '"', '\\'];

/// Arguments of a program that may start any of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct PossibleCommands {
    /// Arguments as passed.
    arguments: Vec<String>,
    /// Arguments, split into words.
    words: Vec<Word>,
    /// Real paths of the words that name a program.
    files: BTreeMap<String, String>,
}

/// A word inside an argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Word {
    text: String,
    /// Index of its argument.
    argument: usize,
    /// A command that contains the word ends here.
    last: bool,
    /// A command may begin here.
    begins: bool,
}

impl PossibleCommands {
    /// Splits the arguments outside of `known`; `None` where the possible commands cannot be
    /// determined.
    pub(super) fn of(
        arguments: &[String],
        known: &std::ops::Range<usize>,
        file: &dyn Fn(&str) -> ProgramFile,
    ) -> Option<PossibleCommands> {
        let words = words_of(arguments, known);
        let mut looked_up: BTreeMap<String, Option<String>> = BTreeMap::new();
        for word in words.iter().filter(|word| word.begins) {
            for name in names(&word.text) {
                // `/proc` holds other files for each process.
                if name.starts_with("/proc/") || looked_up.len() > MOST_WORDS {
                    return None;
                }
                if !looked_up.contains_key(name) {
                    let real = match file(name) {
                        ProgramFile::At(real) => Some(real),
                        ProgramFile::Missing | ProgramFile::Unknown => None,
                    };
                    looked_up.insert(name.to_owned(), real);
                }
            }
        }
        let files = looked_up.into_iter().filter_map(|(name, real)| Some((name, real?))).collect();
        Some(PossibleCommands { arguments: arguments.to_vec(), words, files })
    }

    /// Returns true if a restricting pattern matches a command that may begin here.
    pub(super) fn is_held(&self, globs: &[Glob]) -> bool {
        let mut compared = 0;
        for (place, word) in self.words.iter().enumerate().filter(|(_, word)| word.begins) {
            for called in names(&word.text) {
                let real = self.files.get(called).map(String::as_str);
                let names = [Some(called), Some(base(called)), real, real.map(base)];
                for name in names.into_iter().flatten() {
                    if !globs.iter().any(|glob| could_begin(glob, name)) {
                        continue;
                    }
                    compared += self.left_after(place);
                    let fits = |line: String| globs.iter().any(|glob| glob.matches(&line));
                    if compared > MOST_COMPARED || self.lines(name, place, word).any(fits) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Approximate number of bytes from a word on.
    fn left_after(&self, place: usize) -> usize {
        let after = self.words.iter().skip(place).map(|word| word.text.len() + 1);
        after
            .scan(0, |sum, length| {
                *sum += length;
                (*sum <= MOST_COMPARED).then_some(*sum)
            })
            .last()
            .unwrap_or(MOST_COMPARED)
    }

    /// Command lines that may begin at a word, by possible end.
    fn lines(&self, name: &str, place: usize, word: &Word) -> impl Iterator<Item = String> {
        let after = || self.words.iter().skip(place + 1).map(|word| word.text.as_str());
        let is_last = |word: &&Word| !word.last;
        let own = self.words.iter().skip(place).take_while(is_last).count();
        let suffix = self.arguments.iter().skip(word.argument + 1).map(String::as_str);
        [joined(name, after()), joined(name, after().take(own)), joined(name, suffix)].into_iter()
    }
}

fn joined<'w>(name: &'w str, rest: impl Iterator<Item = &'w str>) -> String {
    std::iter::once(name).chain(rest).collect::<Vec<_>>().join(" ")
}

fn words_of(arguments: &[String], known: &std::ops::Range<usize>) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (argument, text) in arguments.iter().enumerate() {
        let begins = !known.contains(&argument);
        for part in text.split(SEPARATORS) {
            let before = words.len();
            for word in part.split_whitespace() {
                let text = word.replace(QUOTES, "");
                words.push(Word { text, argument, last: false, begins });
            }
            if words.len() > before
                && part.len() < text.len()
                && let Some(word) = words.last_mut()
            {
                word.last = true;
            }
        }
    }
    words
}

/// Names by which a word may call a program: itself, and the value of an option or key.
fn names(word: &str) -> impl Iterator<Item = &str> {
    let values = word.match_indices(['=', ':', ',']).filter_map(|(at, _)| word.get(at + 1..));
    let is_short = word.starts_with('-') && !word.starts_with("--");
    let attached = word.char_indices().nth(2).filter(|_| is_short);
    let attached = attached.and_then(|(at, _)| word.get(at..));
    let names = std::iter::once(word).chain(values).chain(attached);
    // The rest of the word is no part of the name.
    let cut = |name: &'_ str| name.find(['=', ',']).unwrap_or(name.len());
    names
        .flat_map(move |name| [Some(name), name.get(..cut(name))])
        .flatten()
        .filter(|name| !name.is_empty() && name.len() <= LONGEST_PATH && !name.starts_with('-'))
}
