//! Python version specifiers (PEP 440), as far as releases go.
//!
//! A prerelease lies in no range except one that names it.

use std::cmp::Ordering;

/// The ways to compare, longest first, because the shorter ones begin the longer.
const OPERATORS: [(&str, Operator); 8] = [
    ("===", Operator::Same),
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("~=", Operator::Compatible),
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    (">", Operator::Above),
    ("<", Operator::Below),
];

/// One condition of a range.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    operator: Operator,
    text: String,
    version: Version,
    /// Whether it ended in `.*`.
    prefix: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Same,
    Equal,
    Unequal,
    Compatible,
    AtLeast,
    AtMost,
    Above,
    Below,
}

/// A version without what is said only of one build of it.
#[derive(Clone, Debug)]
struct Version {
    epoch: u64,
    release: Vec<u64>,
    post: Option<u64>,
    /// Whether it comes before a release.
    early: bool,
}

impl Clause {
    pub(super) fn parse(text: &str) -> Option<Clause> {
        let text = text.trim();
        let (operator, rest) = OPERATORS
            .iter()
            .find_map(|(sign, operator)| Some((*operator, text.strip_prefix(sign)?.trim())))?;
        let may_be_prefix = matches!(operator, Operator::Equal | Operator::Unequal);
        let (written, prefix) = match rest.strip_suffix(".*") {
            Some(stem) if may_be_prefix => (stem, true),
            Some(_) => return None,
            None => (rest, false),
        };
        let version = Version::parse(written)?;
        let compatible = operator != Operator::Compatible || version.release.len() > 1;
        compatible.then(|| Clause { operator, text: rest.to_owned(), version, prefix })
    }

    pub(super) fn contains(&self, version: &str) -> bool {
        let Some(found) = Version::parse(version) else { return self.text == version };
        if self.text == version {
            return matches!(
                self.operator,
                Operator::Same
                    | Operator::Equal
                    | Operator::Compatible
                    | Operator::AtLeast
                    | Operator::AtMost
            );
        }
        if found.early || self.operator == Operator::Same {
            return false;
        }
        let order = found.compared(&self.version);
        let equal = match self.prefix {
            true => found.begins_with(&self.version.release, self.version.epoch),
            false => order == Ordering::Equal && !self.version.early,
        };
        match self.operator {
            Operator::Same => false,
            Operator::Equal => equal,
            Operator::Unequal => !equal,
            Operator::AtLeast => order != Ordering::Less,
            Operator::AtMost => order != Ordering::Greater,
            Operator::Above => order == Ordering::Greater,
            Operator::Below => order == Ordering::Less,
            Operator::Compatible => {
                let stem = self.version.release.split_last().map(|(_, stem)| stem);
                let same_stem =
                    stem.is_some_and(|stem| found.begins_with(stem, self.version.epoch));
                same_stem && order != Ordering::Less
            }
        }
    }
}

impl Version {
    fn parse(text: &str) -> Option<Version> {
        let text = text.trim().trim_start_matches('v').to_ascii_lowercase();
        let public = text.split('+').next()?;
        let (epoch, rest) = match public.split_once('!') {
            Some((epoch, rest)) => (epoch.parse().ok()?, rest),
            None => (0, public),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (numbers, suffix) = rest.split_at(end);
        let numbers = numbers.strip_suffix('.').unwrap_or(numbers);
        let release =
            numbers.split('.').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        if suffix.contains(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '_')) {
            return None;
        }
        let suffix = suffix.trim_start_matches(['.', '-', '_']);
        let post = suffix.strip_prefix("post").map(|number| number.parse().unwrap_or(0));
        Some(Version { epoch, release, post, early: !suffix.is_empty() && post.is_none() })
    }

    fn compared(&self, other: &Version) -> Ordering {
        let length = self.release.len().max(other.release.len());
        let padded = |version: &Version| -> Vec<u64> {
            let zeros = std::iter::repeat(0);
            version.release.iter().copied().chain(zeros).take(length).collect()
        };
        let one = (self.epoch, padded(self), self.post);
        one.cmp(&(other.epoch, padded(other), other.post))
    }

    fn begins_with(&self, stem: &[u64], epoch: u64) -> bool {
        let mut numbers = self.release.iter().copied().chain(std::iter::repeat(0));
        self.epoch == epoch && stem.iter().all(|number| numbers.next() == Some(*number))
    }
}
