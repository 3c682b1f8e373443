//! Rule coverage: no rule without a case.

use std::collections::BTreeSet;

use haft_contract::all_rules;

use crate::rules::{FILES, case, written};

/// Rules that no case shows, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("J031", "`classifier_input` takes anything, and null means absent"),
    ("L008", "needs a host that runs; the tests of `refresh` hold it"),
    ("V009", "`permissionClass` takes anything, and null means absent"),
    ("V017", "`rateLimits` takes anything, and null means absent"),
    ("V019", "`observability` takes anything, and null means absent"),
    ("Y013", "needs a definition in code; the tests of `define` hold it"),
    ("Y020", "needs a folder of published schemas; `published.rs` holds it"),
];

#[test]
fn every_rule_is_broken_by_some_case() {
    let texts: Vec<String> = FILES.iter().map(|name| written(name)).collect();
    let cases = FILES.iter().zip(&texts).flat_map(|(name, text)| case::read(name, text));
    let shown: BTreeSet<String> = cases
        .flat_map(|case| case.expected)
        .filter_map(|line| line.split(' ').next().map(str::to_owned))
        .collect();
    let missing: Vec<&str> =
        all_rules().iter().map(|rule| rule.code).filter(|code| !shown.contains(*code)).collect();
    let excepted: Vec<&str> = EXCEPTIONS.iter().map(|(code, _)| *code).collect();
    assert_eq!(missing, excepted, "rules without a case, against those that cannot have one");
}
