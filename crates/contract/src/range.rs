//! Version ranges as npm reads them, with pip's comma for "and".

use nodejs_semver::{Range, SemverError, Version};

/// A range of versions.
#[derive(Clone, Debug)]
pub struct VersionRange(Range);

/// Reads a range.
pub fn parse(text: &str) -> Result<VersionRange, SemverError> {
    let commas_as_and = text.replace(',', " ");
    Range::parse(commas_as_and.trim()).map(VersionRange)
}

impl VersionRange {
    /// Whether a version lies in the range.
    pub fn contains(&self, version: &str) -> bool {
        Version::parse(version).is_ok_and(|version| self.0.satisfies(&version))
    }
}

/// The major of a version.
pub fn major(version: &str) -> Option<u64> {
    Version::parse(version).ok().map(|version| version.major())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_npm_reads_them() {
        for (range, inside, outside) in [
            ("^1.0.0", "1.9.3", "2.0.0"),
            (">=2.40 <3", "2.41.0", "3.0.0"),
            ("1.x || 3.x", "3.1.0", "2.0.0"),
            (">=0.40,<1", "0.41.0", "1.0.0"),
            ("~1.2", "1.2.9", "1.3.0"),
        ] {
            let parsed = parse(range).unwrap();
            assert!(parsed.contains(inside) && !parsed.contains(outside), "{range}");
        }
        assert!(parse("not a range").is_err());
    }
}
