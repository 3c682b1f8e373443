//! Action pattern (AIP-7): a glob for each segment of an action's name.
//!
//! Actions of AIP-7 have no colons, so those of AIP-39 are compared with dots: `payments:charge` is
//! `payments.charge`.

use serde::{Serialize, Serializer};

use crate::Glob;

/// A pattern on names of actions: `*` is any one segment, and as the last one any number from one
/// on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionPattern {
    source: Box<str>,
    segments: Box<[Glob]>,
}

impl ActionPattern {
    /// A pattern; every text is one.
    pub fn new(source: &str) -> ActionPattern {
        let segments = source.split(SEPARATORS).map(Glob::new).collect();
        ActionPattern { source: source.into(), segments }
    }

    /// The pattern as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether a whole name matches.
    pub fn matches(&self, name: &str) -> bool {
        let mut names = name.split(SEPARATORS);
        let mut segments = self.segments.iter().peekable();
        while let Some(wanted) = segments.next() {
            let Some(segment) = names.next() else { return false };
            if wanted.source() == "*" && segments.peek().is_none() {
                return true;
            }
            if !wanted.matches(segment) {
                return false;
            }
        }
        names.next().is_none()
    }
}

const SEPARATORS: [char; 2] = ['.', ':'];

impl Serialize for ActionPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::ActionPattern;

    #[test]
    fn action_star_matches_one_segment_or_any_trailing_ones() {
        for (pattern, name, expected) in [
            ("payment.charge", "payment.charge", true),
            ("payment.charge", "payment.refund", false),
            ("payment.*", "payment.charge", true),
            ("payment.*", "payment.charge.late", true),
            ("payment.*", "payment", false),
            ("*.charge", "payment.charge", true),
            ("*.charge", "shop.payment.charge", false),
            ("payment.*.late", "payment.charge.late", true),
            ("payment.ch*", "payment.charge", true),
            ("*", "anything.at.all", true),
            ("payment", "payment.charge", false),
            ("payment:charge", "payment.charge", true),
            ("payment.charge", "payment:charge", true),
            ("payment:*", "payment.charge:late", true),
        ] {
            assert_eq!(ActionPattern::new(pattern).matches(name), expected, "{pattern} on {name}");
        }
    }
}
