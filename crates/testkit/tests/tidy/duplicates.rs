//! Duplicate rules: a package that is there in several versions has a written reason.

use std::collections::{BTreeMap, BTreeSet};

use crate::none;
use crate::repository::file;

/// Packages that may be there more than once, each with the reason.
const REASONS: [(&str, &str); 19] = [
    ("base64", "`jsonwebtoken` and `oauth2` (by `rmcp`) stand at 0.22"),
    ("bitflags", "1 is for `defmt`, which no feature of ours switches on"),
    ("block-buffer", "the older is for `sha2` 0.10"),
    ("cpufeatures", "the older is for `sha2` 0.10"),
    ("crypto-common", "the older is for `sha2` 0.10"),
    ("digest", "the older is for `sha2` 0.10"),
    ("getrandom", "`rand` of three ages, each with its own"),
    ("r-efi", "for UEFI, which nobody builds for"),
    ("rand", "`oauth2` (by `rmcp`) at 0.8, `opentelemetry_sdk` of the tests at 0.9"),
    ("rand_chacha", "with `rand`"),
    ("rand_core", "with `rand`"),
    (
        "rand_pcg",
        "`shuttle` of the tests stands at `rand` 0.8; the newer is for QUIC, which is off",
    ),
    ("sha2", "`oauth2` (by `rmcp`) stands at 0.10"),
    ("signature", "`jsonwebtoken` stands at 2"),
    ("syn", "the macros of others move to 3 one by one"),
    ("thiserror", "`oauth2` (by `rmcp`) stands at 1"),
    ("thiserror-impl", "with `thiserror`"),
    ("untrusted", "`aws-lc-rs` stands at 0.7"),
    ("windows-sys", "for Windows, which others build for"),
];

/// The packages that a lock file holds in several versions.
fn duplicates(lock: &str) -> BTreeSet<&str> {
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for line in lock.lines() {
        if let Some(name) = line.strip_prefix("name = \"").and_then(|rest| rest.strip_suffix('"')) {
            *versions.entry(name).or_default() += 1;
        }
    }
    versions.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect()
}

/// Duplicates without a reason, and reasons without a duplicate.
fn breaches(lock: &str, reasons: &[(&str, &str)]) -> Vec<String> {
    let found = duplicates(lock);
    let excused: BTreeSet<&str> = reasons.iter().map(|(name, _)| *name).collect();
    let new = found.difference(&excused).map(|name| format!("{name} is there twice"));
    let gone =
        excused.difference(&found).map(|name| format!("{name} is there once: drop its reason"));
    new.chain(gone).collect()
}

#[test]
fn every_duplicate_package_has_a_reason() {
    let lock = file("Cargo.lock");
    none(
        "a package in several versions has its reason in duplicates.rs",
        breaches(&lock.text, &REASONS),
    );
}

#[test]
fn duplicate_without_reason_and_stale_reason_are_reported() {
    let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n[[package]]\nname = \"a\"\n\
                version = \"2.0.0\"\n[[package]]\nname = \"b\"\n[[package]]\nname = \"c\"\n\
                [[package]]\nname = \"c\"\n";
    let reasons = [("b", "once"), ("c", "others want it")];
    assert_eq!(breaches(lock, &reasons), ["a is there twice", "b is there once: drop its reason"]);
}
