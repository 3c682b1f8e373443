//! Banned words: no file names a home folder, puts work off, or leaves open who acts.

use crate::none;
use crate::repository::{File, files};

/// Where people's home folders lie. In pieces, so that this file does not hold what it looks for.
const HOMES: [&str; 3] = [concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("\\Us", "ers\\")];

/// What people write where they stopped.
const PUT_OFF: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Words for people that leave open who acts. In pieces for the same reason.
const VAGUE_PEOPLE: [&str; 4] = [
    concat!("who", "ever"),
    concat!("no", "body"),
    concat!("some", "body"),
    concat!("any", "body"),
];

/// The first word of a text that names no one who exists, such as the caller or the approver.
pub(crate) fn vague_person(text: &str) -> Option<&str> {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.find(|word| VAGUE_PEOPLE.iter().any(|vague| word.eq_ignore_ascii_case(vague)))
}

/// The places where a line is wrong, as `file:line: line`.
fn found(files: &[File], wrong: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        let lines = file.text.lines().zip(1..).filter(|(line, _)| wrong(line));
        found.extend(lines.map(|(line, at)| format!("{}:{at}: {}", file.path, line.trim())));
    }
    found
}

/// Whether a home folder with a name in it is written on a line.
fn names_a_home(line: &str) -> bool {
    HOMES.iter().any(|home| {
        line.split(home).skip(1).any(|name| name.starts_with(|c: char| c.is_alphanumeric()))
    })
}

/// Whether a line holds one of the words, as a word.
fn puts_off(line: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric()).any(|word| PUT_OFF.contains(&word))
}

#[test]
fn no_file_names_a_home_folder() {
    none("no file holds a path of somebody's machine", found(&files(""), names_a_home));
}

#[test]
fn nothing_in_the_crates_is_left_for_later() {
    none("what is left for later is written down elsewhere", found(&files("crates"), puts_off));
}

#[test]
fn homes_and_put_off_work_are_recognised() {
    let home = concat!("open /ho", "me/ana/key");
    assert!(names_a_home(home) && !names_a_home(concat!("/ho", "me/<name>")));
    let note = concat!("// TO", "DO: later");
    assert!(puts_off(note) && !puts_off(concat!("MAX_TO", "DOS")));
}
