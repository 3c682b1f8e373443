//! Vocabulary of types and tests: a type name stands for one thing, a test's name is short.

use std::collections::{BTreeMap, BTreeSet};

use crate::none;
use crate::repository::File;
use crate::sources::{is_test, sources};
use crate::words::vague_person;

/// Names that a reader understands in any module.
const EXPECTED_TWICE: [&str; 4] = ["Error", "Options", "Arguments", "Builder"];

/// Modules that may define a type of the same name.
const MOST_MODULES: usize = 3;

/// Participles and bare nouns that do not say what a type holds.
const BARE: [&str; 19] = [
    "Asked", "Kept", "Told", "Said", "Seen", "Given", "Wanted", "Known", "Held", "Made", "Heard",
    "Found", "Shown", "Way", "Place", "Line", "News", "Manner", "Written",
];

/// The module of the ledger's events, which are in the past tense by nature.
const EVENTS: &str = "crates/model/src/step.rs";

/// Words that a test's name may have.
const MOST_WORDS: usize = 9;

/// The files under `crates/*/src` that ship.
fn shipped() -> Vec<File> {
    let ships = |file: &File| file.path.split('/').nth(2) == Some("src") && !is_test(file);
    sources().into_iter().filter(ships).collect()
}

/// An item's text from its keyword on, without its visibility.
fn item(line: &str) -> &str {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')').map_or(rest, |(_, rest)| rest),
        Some(rest) => rest,
        None => line,
    };
    let line = line.trim_start();
    line.strip_prefix("unsafe ").unwrap_or(line)
}

fn keyword(line: &str) -> &str {
    item(line).split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()
}

/// The name of the type that a line defines.
fn defined(line: &str) -> Option<&str> {
    let (word, rest) = item(line).split_once(' ')?;
    let defines = ["struct", "enum", "trait", "type", "union"].contains(&word);
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (defines && name.starts_with(char::is_uppercase)).then_some(name)
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The types that a file defines outside of test modules, associated types left out.
fn definitions(text: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut lines = text.lines();
    let mut for_tests = false;
    // The indentation of the `impl` or `trait` block around a line.
    let mut block = None;
    while let Some(line) = lines.next() {
        let depth = indentation(line);
        let closes = |line: &str| line.trim() == "}" && indentation(line) == depth;
        if for_tests && keyword(line) == "mod" && line.ends_with('{') {
            lines.by_ref().find(|line| closes(line));
        }
        for_tests = line.trim() == "#[cfg(test)]" || for_tests && line.trim().starts_with("#[");
        if block == Some(depth) && closes(line) {
            block = None;
        }
        names.extend(defined(line).filter(|_| block.is_none() || keyword(line) != "type"));
        let opens = ["impl", "trait"].contains(&keyword(line)) && !line.ends_with(['}', ';']);
        if block.is_none() && opens {
            block = Some(depth);
        }
    }
    names
}

/// Types whose name more than three modules define, as `file: name`.
fn ambiguous(files: &[File]) -> Vec<String> {
    let mut modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files {
        for name in definitions(&file.text) {
            modules.entry(name).or_default().push(&file.path);
        }
    }
    modules.retain(|name, paths| paths.len() > MOST_MODULES && !EXPECTED_TWICE.contains(name));
    let each = modules.into_iter().flat_map(|(name, paths)| {
        let count = paths.len();
        paths.into_iter().map(move |path| format!("{path}: {name}, defined in {count} modules"))
    });
    each.collect()
}

/// Types named by a bare word outside of the event module, as `file: name`.
fn bare(files: &[File]) -> Vec<String> {
    let others = files.iter().filter(|file| file.path != EVENTS);
    let named = others.flat_map(|file| {
        let names = definitions(&file.text).into_iter().filter(|name| BARE.contains(name));
        names.map(move |name| format!("{}: {name}", file.path))
    });
    named.collect()
}

/// Whether a line is `#[test]`, `#[tokio::test]` or the like.
fn marks_test(line: &str) -> bool {
    let path = line.trim().strip_prefix("#[").and_then(|rest| rest.split(['(', ']']).next());
    path.and_then(|path| path.rsplit("::").next()) == Some("test")
}

/// The names of the tests in a file.
fn tests(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut lines = text.lines();
    while lines.by_ref().any(marks_test) {
        let named = lines.by_ref().find_map(|line| {
            let line = item(line);
            line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")
        });
        names.extend(named.and_then(|rest| rest.split(['(', '<']).next()));
    }
    names
}

/// A test's name without its number, such as that of a clause in a published suite.
fn unnumbered(name: &str) -> &str {
    let numbered = name.strip_prefix("test_").and_then(|rest| rest.split_once('_'));
    match numbered {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => name,
    }
}

/// What is wrong with a test's name.
fn fault(name: &str) -> Option<String> {
    let words = unnumbered(name).split('_').count();
    match vague_person(name) {
        Some(word) => Some(format!("says `{word}`")),
        None => (words > MOST_WORDS).then(|| format!("has {words} words")),
    }
}

/// Tests whose names are too long or vague, as `file: name`.
fn misnamed(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        let faults = tests(&file.text).into_iter().filter_map(|name| Some((name, fault(name)?)));
        found.extend(faults.map(|(name, fault)| format!("{}: {name} {fault}", file.path)));
    }
    found
}

#[test]
fn type_names_are_defined_in_at_most_three_modules() {
    none("a type name stands for one thing in the workspace", ambiguous(&shipped()));
}

#[test]
fn types_outside_event_module_are_no_bare_words() {
    none("a type is a noun that says what it holds", bare(&shipped()));
}

#[test]
fn test_names_have_at_most_nine_words() {
    none("a test's name is subject_condition_result, at most nine words", misnamed(&sources()));
}

fn fixture(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

#[test]
fn fourth_definition_of_a_type_name_is_reported() {
    let text = "pub(crate) struct Entry<'a>(&'a str);\nenum Error {}\n";
    let files = ["a", "b", "c", "d"].map(|path| fixture(path, text));
    assert_eq!(ambiguous(files.first_chunk::<3>().unwrap()), [""; 0]);
    let reports = ["a", "b", "c", "d"].map(|path| format!("{path}: Entry, defined in 4 modules"));
    assert_eq!(ambiguous(&files), reports);
}

#[test]
fn bare_type_name_is_reported_outside_event_module() {
    let text = "pub struct Asked;\nstruct AskedFor;\n// struct Kept;\n";
    let files = [fixture(EVENTS, text), fixture("crates/a/src/b.rs", text)];
    assert_eq!(bare(&files), ["crates/a/src/b.rs: Asked"]);
}

#[test]
fn definitions_leave_out_associated_types_and_tests() {
    let text = "type Alias = u8;\nimpl Iterator\nfor X\n{\n    type Item = u8;\n    fn a() {\n        \
                struct Local;\n    }\n}\npub trait Port {\n    type Output;\n}\nmod inner {\n    \
                pub(super) type Inner = u8;\n}\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n    \
                struct Fake;\n}\nunion Last {}\nstruct $name;\nlet a = \"struct Text\";\n";
    let names: Vec<_> = definitions(text).into_iter().collect();
    assert_eq!(names, ["Alias", "Inner", "Last", "Local", "Port"]);
}

#[test]
fn long_or_vague_test_name_is_reported() {
    let text = [
        "#[test]",
        "fn one_two_three_four_five_six_seven_eight_nine() {}",
        "    #[tokio::test(flavor = \"x\")]",
        "    #[expect(",
        "        a",
        "    )]",
        "    async fn one_two_three_four_five_six_seven_eight_nine_ten() {}",
        "#[test]",
        "fn test_07_one_two_three_four_five_six_seven_eight_nine() {}",
        "#[test]",
        "fn call_that_nobody_wants() {}",
        "fn somebody() {}",
    ]
    .join("\n");
    let reports = [
        "a.rs: one_two_three_four_five_six_seven_eight_nine_ten has 10 words",
        "a.rs: call_that_nobody_wants says `nobody`",
    ];
    assert_eq!(misnamed(&[fixture("a.rs", &text)]), reports);
}
