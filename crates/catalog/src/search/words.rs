//! Tokenizer: splits texts and queries into stemmed words.

use std::collections::HashSet;
use std::sync::OnceLock;

/// Stop words.
const STOP: &str = "a about above after again all also am an and any are as assist at be because \
    been before being between both but by can could did do does doing dont down during each few \
    for from further give had has have having he help her here hers him his how i id if im in \
    interested into is it its itself ive just know let like looking may me might more most must \
    my myself need needs no nor not now of off on once only or other our ours out over own please \
    provide same shall she should so some such tell than that the their theirs them then there \
    these they this those through to too under until up us very want wanted was we were what \
    whats when where which while who whom why will with would you your yours";

/// Words between which a question turns to something else.
const TURNS: [&str; 2] = ["and", "then"];

/// What a quote begins and ends with.
const QUOTES: [char; 6] = ['"', '\'', '“', '”', '‘', '’'];

/// How many words of a question are read; more of them is no question.
const LONGEST: usize = 500;

/// A word as it was written in small letters, and the part of it that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) written: String,
    pub(super) stem: String,
    /// Whether a question has it in quotes: a value that a tool is to be given, more often than what it
    /// does.
    pub(super) quoted: bool,
}

/// The words of a text that say something.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    each_piece(text, |piece| found.extend(word(piece)));
    found
}

/// The words of a question, one list for each thing that it seems to ask for.
pub(super) fn clauses(question: &str) -> Vec<Vec<Word>> {
    let mut clauses: Vec<Vec<Word>> = Vec::new();
    for sentence in sentences(question) {
        clauses.push(Vec::new());
        let mut quoted = false;
        for text in sentence.split_whitespace() {
            quoted |= text.starts_with(QUOTES);
            each_piece(text, |piece| {
                if TURNS.contains(&piece.as_str()) {
                    clauses.push(Vec::new());
                } else if let Some(clause) = clauses.last_mut() {
                    clause.extend(word(piece).map(|word| Word { quoted, ..word }));
                }
            });
            let end =
                text.trim_end_matches(|c: char| c.is_ascii_punctuation() && !QUOTES.contains(&c));
            quoted &= !end.ends_with(QUOTES);
        }
    }
    let mut left = LONGEST;
    for clause in &mut clauses {
        clause.truncate(left);
        left -= clause.len();
    }
    clauses.retain(|clause| !clause.is_empty());
    clauses
}

/// A word without its commonest endings, so that `charges` finds `charge`.
pub(super) fn stem(word: &str) -> &str {
    let endings = ["ing", "es", "ed", "s", "e"];
    let shorter = |ending: &str| word.strip_suffix(ending).filter(|stem| stem.len() > 2);
    endings.into_iter().find_map(shorter).unwrap_or(word)
}

fn word(written: String) -> Option<Word> {
    static SAYS_NOTHING: OnceLock<HashSet<&str>> = OnceLock::new();
    let stop = SAYS_NOTHING.get_or_init(|| STOP.split_whitespace().collect());
    let says_something = !stop.contains(written.as_str());
    let stem = stem(&written).to_owned();
    says_something.then_some(Word { stem, written, quoted: false })
}

/// The parts between full stops, commas and ends of lines; the dot of `a.txt` ends nothing.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let whole = rest?;
        let mut characters = whole.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            let next = characters.peek().map(|(_, c)| *c);
            let at_a_gap = next.is_none_or(|c| c.is_whitespace() || c == '"' || c == '\'');
            if matches!(c, '\n' | ';' | '?' | '!') || matches!(c, '.' | ',') && at_a_gap {
                let (sentence, after) = (whole.get(..at)?, whole.get(at + c.len_utf8()..)?);
                rest = Some(after);
                return Some(sentence);
            }
        }
        rest = None;
        Some(whole)
    })
}

/// Hands on each run of letters or digits in small letters, with names such as `listOpenPRs2` and
/// `list_open` taken apart. Signs that are words of their own, as in Chinese, come one by one.
fn each_piece(text: &str, mut found: impl FnMut(String)) {
    let mut piece = String::new();
    let mut before: Option<char> = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if matches!(c, '\'' | '’') {
            continue;
        }
        let starts = before.is_some_and(|before| {
            let next_is_small = begins_small(characters.as_str());
            is_ideograph(c)
                || is_ideograph(before)
                || before.is_numeric() != c.is_numeric()
                || c.is_uppercase() && (!before.is_uppercase() || next_is_small)
        });
        if !piece.is_empty() && (starts || !c.is_alphanumeric()) {
            found(std::mem::take(&mut piece));
        }
        before = c.is_alphanumeric().then_some(c);
        if c.is_alphanumeric() {
            piece.extend(c.to_lowercase());
        }
    }
    if !piece.is_empty() {
        found(piece);
    }
}

/// Whether small letters follow; the one of `URLs` belongs to the large ones before it.
fn begins_small(rest: &str) -> bool {
    let mut next = rest.chars();
    match (next.next(), next.next()) {
        (Some('s'), after) => after.is_some_and(char::is_lowercase),
        (first, _) => first.is_some_and(char::is_lowercase),
    }
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(words: &[Word]) -> Vec<&str> {
        words.iter().map(|word| word.written.as_str()).collect()
    }

    #[test]
    fn names_are_taken_apart_at_case_digits_and_signs() {
        let names = "listOpenPRs2 create_issue HTTPServer don't /v1/a.txt 天气";
        let parts = [
            "list", "open", "prs", "2", "create", "issue", "http", "server", "v", "1", "txt", "天",
            "气",
        ];
        assert_eq!(written(&words(names)), parts);
    }

    #[test]
    fn query_splits_into_clauses_at_punctuation_and_conjunctions() {
        let question = "Find a.txt in Rome, then book a table! \"Yes.\" And\npay";
        let clauses: Vec<Vec<String>> = clauses(question)
            .into_iter()
            .map(|clause| clause.into_iter().map(|word| word.stem).collect())
            .collect();
        let expected: [&[&str]; 5] =
            [&["find", "txt", "rom"], &["book", "tabl"], &["yes"], &["pay"], &[]];
        assert_eq!(clauses, expected.into_iter().filter(|c| !c.is_empty()).collect::<Vec<_>>());
    }

    #[test]
    fn what_stands_in_quotes_is_told_from_the_rest() {
        let question = "Mail \"red tape\" to Ann's boss, 'soon', not “late”";
        let quoted = clauses(question).into_iter().flatten().filter(|word| word.quoted);
        let quoted: Vec<String> = quoted.map(|word| word.written).collect();
        assert_eq!(quoted, ["red", "tape", "soon", "late"]);
    }

    #[test]
    fn of_a_question_without_end_the_beginning_is_read() {
        let question = "send mail. ".repeat(100_000);
        assert_eq!(clauses(&question).iter().map(Vec::len).sum::<usize>(), LONGEST);
    }

    #[test]
    fn endings_are_cut_and_short_words_are_left() {
        let cut = ["charges", "listing", "used", "gas", "ring", "é"].map(stem);
        assert_eq!(cut, ["charg", "list", "used", "gas", "ring", "é"]);
    }
}
