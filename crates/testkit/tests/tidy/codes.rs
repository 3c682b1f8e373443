//! Error code rules: the pages of `docs/errors` match the table of codes.

use std::collections::BTreeSet;

use haft_model::{Code, Retry};

use crate::none;
use crate::repository::{file, files};

fn page(code: Code) -> String {
    format!("docs/errors/{code}.md")
}

#[test]
fn every_error_code_has_exactly_one_page() {
    let wanted: BTreeSet<_> = Code::ALL.iter().map(|code| page(*code)).collect();
    let found: BTreeSet<_> = files("docs/errors").into_iter().map(|file| file.path).collect();
    let missing = wanted.difference(&found).map(|path| format!("{path} is missing"));
    let stray = found.difference(&wanted).map(|path| format!("{path} is about no code"));
    none("docs/errors has one page for each code", missing.chain(stray).collect());
}

#[test]
fn a_page_opens_with_its_code() {
    let opens = |code: &&Code| {
        file(&page(**code)).text.lines().next() == Some(format!("# {code}").as_str())
    };
    let others = Code::ALL.iter().filter(|code| !opens(code));
    none("a page's first line is `# <code>`", others.map(|code| page(*code)).collect());
}

#[test]
fn a_page_gives_the_words_of_its_code() {
    let row = |code: Code| {
        let again = match code.retry() {
            Retry::Yes => "yes".to_owned(),
            Retry::No => "no".to_owned(),
            Retry::After(what) => format!("after {what}"),
        };
        format!("| `{}` | `{}` | `{}` | {again} |", code.class(), code.aip(), code.aruntime())
    };
    let wrong = Code::ALL.iter().filter(|code| {
        let row = row(**code);
        !file(&page(**code)).text.lines().any(|line| line == row)
    });
    let wrong = wrong.map(|code| format!("{} lacks {}", page(*code), row(*code)));
    none("a page's table says what the code says", wrong.collect());
}

#[test]
fn a_page_says_why_and_what_to_do() {
    let lacks = |code: &&Code| {
        let text = file(&page(**code)).text;
        !text.contains("\n## Why it happens\n") || !text.contains("\n## What to do\n")
    };
    let silent = Code::ALL.iter().filter(lacks).map(|code| page(*code));
    none("a page has causes and remedies", silent.collect());
}
