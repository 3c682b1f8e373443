//! Licence rules: every package that we build with may be used and passed on.

use std::process::Command;

use crate::none;
use crate::repository::root;

/// Licences that ask for no more than their notice.
const ALLOWED: [&str; 10] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Zlib",
];

/// Every package of this machine's builds with its licence, as `name vVERSION|expression`.
fn packages() -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["tree", "--offline", "--workspace", "--edges", "normal,build,dev"]);
    command.args(["--prefix", "none", "--format", "{p}|{l}"]).current_dir(root());
    let listed = command.output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    String::from_utf8(listed.stdout).unwrap()
}

/// The packages of a list whose licences are not allowed.
fn breaches(packages: &str) -> Vec<String> {
    let lines = packages.lines().map(|line| line.trim_end_matches(" (*)"));
    let mut refused: Vec<String> = lines
        .filter_map(|line| line.split_once('|'))
        .filter(|(_, licence)| !is_allowed(licence))
        .map(|(package, licence)| format!("{package}: `{licence}`"))
        .collect();
    refused.sort();
    refused.dedup();
    refused
}

/// Whether an SPDX expression leaves a choice that is allowed; an old slash means `OR`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    any(&mut words) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Words) -> bool {
    let mut allowed = all(words);
    while words.next_if(|word| word.eq_ignore_ascii_case("or")).is_some() {
        allowed |= all(words);
    }
    allowed
}

fn all(words: &mut Words) -> bool {
    let mut allowed = one(words);
    while words.next_if(|word| word.eq_ignore_ascii_case("and")).is_some() {
        allowed &= one(words);
    }
    allowed
}

fn one(words: &mut Words) -> bool {
    let Some(word) = words.next() else { return false };
    if word == "(" {
        return any(words) && words.next() == Some(")");
    }
    // An exception only adds a right.
    if words.next_if_eq(&"WITH").is_some() {
        words.next();
    }
    ALLOWED.contains(&word)
}

#[test]
fn every_package_has_an_allowed_licence() {
    let packages = packages();
    assert!(packages.lines().count() > 100, "{packages}");
    none("a package has a licence that asks for no more than its notice", breaches(&packages));
}

#[test]
fn package_with_a_refused_licence_is_reported() {
    let packages = "haft v0.1.0 (/here)|Apache-2.0\nslash v1.0.0|Unlicense/MIT (*)\n\
                    copyleft v2.0.0|GPL-3.0-only\nboth v1.0.0|MIT AND (LGPL-3.0 OR MPL-2.0)\n\
                    silent v1.0.0|\nodd v1.0.0|MIT AND (ISC OR GPL-2.0)\ncopyleft v2.0.0|GPL-3.0-only (*)\n\
                    exception v1.0.0|Apache-2.0 WITH LLVM-exception OR GPL-2.0\nbroken v1.0.0|(MIT";
    let expected = [
        "both v1.0.0: `MIT AND (LGPL-3.0 OR MPL-2.0)`",
        "broken v1.0.0: `(MIT`",
        "copyleft v2.0.0: `GPL-3.0-only`",
        "silent v1.0.0: ``",
    ];
    assert_eq!(breaches(packages), expected);
}
