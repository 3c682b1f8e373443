//! Possible commands: every place in a program's arguments at which another command may begin.
//!
//! No table can list all programs that start others, so a deny does not depend on one. A suffix of the
//! arguments, and every word of an argument that holds several, counts as a command that may be started.

use std::collections::BTreeMap;

use haft_model::Glob;
use serde::Serialize;

use super::command::{ProgramFile, base, could_begin};

/// How many different words are looked up; arguments with more are opaque.
const MOST_WORDS: usize = 4096;

/// How many bytes are compared in full; arguments with more that look alike are held.
const MOST_COMPARED: usize = 1 << 20;

/// The longest path of a program.
const LONGEST_PATH: usize = 4096;

/// What separates words wherever a shell might read them.
const SEPARATORS: [char; 13] = [';', '|', '&', '<', '>', '(', ')', '`', '$', '{', '}', '\n', '\r'];

/// What a shell takes away from around and inside words.
const QUOTES: [char; 3] = ['\'', '"', '\\'];

/// The arguments of a program that may start any of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct PossibleCommands {
    /// The arguments as they are passed.
    arguments: Vec<String>,
    /// The same, taken apart into words.
    words: Vec<Word>,
    /// The real paths of words that name a program.
    files: BTreeMap<String, String>,
}

/// A word inside an argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Word {
    text: String,
    /// The argument that it stands in.
    argument: usize,
    /// Whether a command that holds it ends with it.
    last: bool,
    /// Whether a command may begin here.
    begins: bool,
}

impl PossibleCommands {
    /// The places outside of `known` at which a command may begin; nothing where these cannot be told.
    pub(super) fn of(
        arguments: &[String],
        known: &std::ops::Range<usize>,
        file: &dyn Fn(&str) -> ProgramFile,
    ) -> Option<PossibleCommands> {
        let words = words_of(arguments, known);
        let mut looked_up: BTreeMap<String, Option<String>> = BTreeMap::new();
        for word in words.iter().filter(|word| word.begins) {
            for name in names(&word.text) {
                // What lies there is another file for each process.
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

    /// Whether one of some patterns that hold back is about a command that may begin here.
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

    /// How many bytes stand behind a word, about.
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

    /// The command that begins at a word, by each place where it may end.
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

/// The names by which a word may call a program: itself, and what stands behind an option or a key.
fn names(word: &str) -> impl Iterator<Item = &str> {
    let values = word.match_indices(['=', ':', ',']).filter_map(|(at, _)| word.get(at + 1..));
    let is_short = word.starts_with('-') && !word.starts_with("--");
    let attached = word.char_indices().nth(2).filter(|_| is_short);
    let attached = attached.and_then(|(at, _)| word.get(at..));
    let names = std::iter::once(word).chain(values).chain(attached);
    // What follows the name in the same word is no part of it.
    let cut = |name: &'_ str| name.find(['=', ',']).unwrap_or(name.len());
    names
        .flat_map(move |name| [Some(name), name.get(..cut(name))])
        .flatten()
        .filter(|name| !name.is_empty() && name.len() <= LONGEST_PATH && !name.starts_with('-'))
}
