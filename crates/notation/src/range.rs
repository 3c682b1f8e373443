//! Version ranges: npm's syntax, with pip's comma for "and", and Python's specifiers.

mod python;

use nodejs_semver::{Range, Version};

use crate::NotationFault;
use python::Clause;

/// A range of versions.
#[derive(Clone, Debug)]
pub struct VersionRange(RangeText);

#[derive(Clone, Debug)]
enum RangeText {
    Npm(Range),
    Python(Vec<Clause>),
}

/// Reads a range.
pub fn parse(text: &str) -> Result<VersionRange, NotationFault> {
    let commas_as_and = text.replace(',', " ");
    let range = Range::parse(commas_as_and.trim());
    let range =
        range.map_err(|_| NotationFault::new(format!("`{text}` is not a version range")))?;
    Ok(VersionRange(RangeText::Npm(range)))
}

/// Reads a range of versions of a Python package: `>=1,<2`, `==1.*`, `~=1.4`, or as npm writes it.
pub fn parse_python(text: &str) -> Result<VersionRange, NotationFault> {
    let clauses: Option<Vec<Clause>> = text.split(',').map(Clause::parse).collect();
    match clauses {
        Some(clauses) => Ok(VersionRange(RangeText::Python(clauses))),
        None => parse(text),
    }
}

impl VersionRange {
    /// Whether a version lies in the range.
    pub fn contains(&self, version: &str) -> bool {
        match &self.0 {
            RangeText::Npm(range) => Version::parse(version)
                .or_else(|_| Version::parse(padded(version)))
                .is_ok_and(|version| range.satisfies(&version)),
            RangeText::Python(clauses) => clauses.iter().all(|clause| clause.contains(version)),
        }
    }
}

/// Whether a text is a semantic version.
pub fn is_version(text: &str) -> bool {
    Version::parse(text).is_ok()
}

/// The major of a version.
pub fn major(version: &str) -> Option<u64> {
    Version::parse(version).ok().map(|version| version.major())
}

/// `1.4` as `1.4.0`, which is how others write the same version.
fn padded(version: &str) -> String {
    let dots = version.bytes().filter(|byte| *byte == b'.').count();
    format!("{version}{}", ".0".repeat(2_usize.saturating_sub(dots)))
}

#[cfg(test)]
mod tests {
    use super::*;

    type ParsedRange = fn(&str) -> Result<VersionRange, NotationFault>;

    fn check(read: ParsedRange, range: &str, inside: &[&str], outside: &[&str]) {
        let parsed = read(range).unwrap();
        for version in inside {
            assert!(parsed.contains(version), "{version} is in {range}");
        }
        for version in outside {
            assert!(!parsed.contains(version), "{version} is not in {range}");
        }
    }

    #[test]
    fn ranges_are_read_as_npm_reads_them() {
        check(parse, "^1.0.0", &["1.9.3"], &["2.0.0"]);
        check(parse, ">=2.40 <3", &["2.41.0"], &["3.0.0"]);
        check(parse, "1.x || 3.x", &["3.1.0"], &["2.0.0"]);
        check(parse, ">=0.40,<1", &["0.41.0"], &["1.0.0"]);
        check(parse, "~1.2", &["1.2.9"], &["1.3.0"]);
        assert!(parse("not a range").is_err());
    }

    #[test]
    fn python_version_ranges_follow_pip() {
        check(parse_python, ">=1,<2", &["1", "1.9.9", "1.0.post1"], &["2.0", "0.9", "1.5rc1"]);
        check(parse_python, "==1.*", &["1.0", "1.22.3"], &["10.0", "2"]);
        check(parse_python, "~=1.4", &["1.4", "1.10.2"], &["1.3.9", "2.0"]);
        check(parse_python, "~=1.4.2", &["1.4.9"], &["1.5", "1.4.1"]);
        check(parse_python, "==1.4", &["1.4.0", "1.4+cpu"], &["1.4.1", "1.4.post1"]);
        check(parse_python, "!=1.5,>1.4", &["1.4.1", "1.6"], &["1.4.0", "1.5.0"]);
        check(parse_python, "<=2024.1", &["2023.12.31", "2024.1"], &["2024.2", "1!1.0"]);
        check(parse_python, "==2.0rc1", &["2.0rc1"], &["2.0", "2.0rc2"]);
    }

    #[test]
    fn python_version_ranges_accept_npm_syntax() {
        check(parse_python, "^4.9", &["4.9", "4.12.1"], &["5.0"]);
        check(parse_python, ">=2.40 <3", &["2.40.0"], &["3.0"]);
        assert!(parse_python("~=1").is_err());
        assert!(parse_python("the latest").is_err());
    }
}
