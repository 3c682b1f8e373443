//! Glossary rules: entries are sorted, unique, few, in direct English, and about words that are in use.

use crate::none;
use crate::repository::{file, files};
use crate::words::vague_person;

/// Entries that the glossary may have: more, and it lists what a dictionary or the code says better.
const MOST_ENTRIES: usize = 170;

/// The entries, such as `plan` or `rule (of a workspace)`, each with its sentence.
fn entries(text: &str) -> Vec<(&str, &str)> {
    text.lines().filter_map(|line| line.strip_prefix("- **")?.split_once("**: ")).collect()
}

/// An entry's word without what tells it from another of the same name.
fn bare(word: &str) -> &str {
    word.split_once(" (").map_or(word, |(word, _)| word)
}

/// A text as lower-case words with one space before each: `ToolKey`, `tool_key` and `tool-key` are
/// all ` tool key`.
fn spelled(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut before = ' ';
    for c in text.chars() {
        let begins = !before.is_alphanumeric() || c.is_uppercase() && before.is_lowercase();
        if c.is_alphanumeric() {
            if begins {
                out.push(' ');
            }
            out.extend(c.to_lowercase());
        }
        before = c;
    }
    out
}

/// Entries out of order or listed twice.
fn unsorted(text: &str) -> Vec<String> {
    let entries = entries(text);
    let pairs = entries.iter().zip(entries.iter().skip(1));
    let wrong = pairs.filter(|((one, _), (next, _))| one >= next);
    wrong.map(|((one, _), (next, _))| format!("`{next}` stands after `{one}`")).collect()
}

/// Entries beyond the number that there may be.
fn surplus(text: &str) -> Vec<String> {
    let count = entries(text).len();
    let over = (count > MOST_ENTRIES).then(|| format!("{count} entries"));
    over.into_iter().collect()
}

/// Entries that leave open who acts.
fn vague(text: &str) -> Vec<String> {
    let entries = entries(text).into_iter();
    let said = entries.filter_map(|(word, sentence)| Some((word, vague_person(sentence)?)));
    said.map(|(word, vague)| format!("`{word}` says `{vague}`")).collect()
}

/// Entries whose word is not in the corpus, which is spelled out.
fn unused(text: &str, corpus: &str) -> Vec<String> {
    let words = entries(text).into_iter().map(|(word, _)| word);
    let gone = words.filter(|word| !corpus.contains(&spelled(bare(word))));
    gone.map(|word| format!("`{word}` occurs nowhere else")).collect()
}

/// The code and the pages with their paths, without the glossary itself.
fn corpus() -> String {
    let pages = files("docs").into_iter().filter(|page| page.name() != "glossary.md");
    let read = |name: &str| name.ends_with(".rs") || name.ends_with(".md");
    let all = files("crates").into_iter().chain(pages).filter(|file| read(file.name()));
    all.map(|file| spelled(&file.path) + &spelled(&file.text)).collect()
}

fn glossary() -> String {
    file("docs/glossary.md").text
}

#[test]
fn words_are_sorted_and_none_stands_twice() {
    none("the glossary is in alphabetical order, each word once", unsorted(&glossary()));
}

#[test]
fn every_line_of_the_list_defines_a_word() {
    let glossary = glossary();
    let lines = glossary.lines().filter(|line| line.starts_with('-'));
    assert_eq!(lines.count(), entries(&glossary).len(), "a line is `- **word**: sentence.`");
}

#[test]
fn glossary_stays_below_its_size() {
    none("the glossary has at most 170 entries", surplus(&glossary()));
}

#[test]
fn glossary_entries_say_who_acts() {
    none("an entry names who acts: the caller, the approver, the driver", vague(&glossary()));
}

#[test]
fn glossary_words_occur_in_code_or_docs() {
    none("the glossary explains words that are in use", unused(&glossary(), &corpus()));
}

#[test]
fn glossary_rules_report_each_breach() {
    let text = concat!(
        "- **lease**: a right to write.\n",
        "- **actor (of a call)**: who",
        "ever calls.\n- **tool key**: an id.\n- **tool key**: it again.\n",
    );
    let twice = "`tool key` stands after `tool key`";
    assert_eq!(unsorted(text), ["`actor (of a call)` stands after `lease`", twice]);
    assert_eq!(vague(text), [concat!("`actor (of a call)` says `who", "ever`")]);
    let corpus = spelled("struct ToolKey; // leases");
    assert_eq!(unused(text, &corpus), ["`actor (of a call)` occurs nowhere else"]);
    assert_eq!(surplus(text), [""; 0]);
    assert_eq!(surplus(&"- **a**: b.\n".repeat(171)), ["171 entries"]);
}
