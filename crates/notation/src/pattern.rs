//! Regular expressions: ours, written in tables, and those of authors, checked before use.

use std::sync::OnceLock;

use crate::NotationFault;

/// The longest pattern that is read, in bytes.
const LONGEST: usize = 1000;

/// A pattern that a table of ours holds: compiled at its first use, shown in schemas as written.
pub struct Pattern {
    source: &'static str,
    compiled: OnceLock<Option<regex::Regex>>,
}

impl Pattern {
    /// A pattern in the subset that ECMA-262 and Rust read alike.
    pub const fn new(source: &'static str) -> Pattern {
        Pattern { source, compiled: OnceLock::new() }
    }

    /// The pattern as written.
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Whether a text fits. A pattern that does not compile fits nothing; a test compiles them all.
    pub fn fits(&self, text: &str) -> bool {
        self.compiled
            .get_or_init(|| regex::Regex::new(self.source).ok())
            .as_ref()
            .is_some_and(|regex| regex.is_match(text))
    }

    /// Whether it compiles.
    pub fn compiles(&self) -> bool {
        regex::Regex::new(self.source).is_ok()
    }
}

/// A pattern that a caller searches texts with. It takes time linear in the text: there is no
/// lookaround and no backreference.
#[derive(Clone, Debug)]
pub struct SearchPattern(regex::Regex);

impl SearchPattern {
    /// Reads a pattern.
    pub fn parse(source: &str) -> Result<SearchPattern, NotationFault> {
        if source.len() > LONGEST {
            return Err(NotationFault::new(format!(
                "the pattern has more than {LONGEST} characters"
            )));
        }
        match regex::Regex::new(source) {
            Ok(regex) => Ok(SearchPattern(regex)),
            Err(regex::Error::Syntax(text)) => Err(NotationFault::new(format!(
                "the pattern does not compile: {}",
                text.lines().last().unwrap_or_default().trim_start_matches("error: ")
            ))),
            Err(_) => Err(NotationFault::new("the pattern is too large when it is compiled")),
        }
    }

    /// Whether some part of a text fits.
    pub fn finds(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// The fault of an author's ECMAScript pattern, as `version_check.parse` holds one.
///
/// Lookaround and backreferences are allowed here: the pattern runs over a few lines of a
/// program's output, with a bound on backtracking.
pub fn ecma_fault(source: &str) -> Option<NotationFault> {
    if source.len() > LONGEST {
        return Some(NotationFault::new(format!("the pattern has more than {LONGEST} characters")));
    }
    match fancy_regex::Regex::new(source) {
        Ok(regex) if regex.captures_len() < 2 => Some(
            NotationFault::new("the pattern has no group, so there is no version to take from it")
                .help("put the version in parentheses, as in `version (\\d+\\.\\d+\\.\\d+)`"),
        ),
        Ok(_) => None,
        Err(cause) => Some(NotationFault::new(format!("the pattern does not compile: {cause}"))),
    }
}

/// The match of such a pattern's first group in a text.
pub fn ecma_group(source: &str, text: &str) -> Result<Option<String>, NotationFault> {
    if let Some(fault) = ecma_fault(source) {
        return Err(fault);
    }
    let found = fancy_regex::Regex::new(source).and_then(|regex| regex.captures(text));
    let found = found
        .map_err(|_| NotationFault::new("the pattern takes too long to look for in the text"))?;
    Ok(found.and_then(|found| found.get(1)).map(|group| group.as_str().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_match_returns_first_group() {
        let found = |pattern: &str| ecma_group(pattern, "git version 2.43.0 (linux)").unwrap();
        assert_eq!(found(r"git version (\d+\.\d+\.\d+)").as_deref(), Some("2.43.0"));
        assert_eq!(found(r"(?<=version )(\S+)").as_deref(), Some("2.43.0"));
        assert_eq!(found(r"hg (\S+)"), None);
        assert!(ecma_group("no group", "x").is_err());
        assert!(ecma_group(r"(a+)+\1b", &"a".repeat(5000)).is_err());
    }

    #[test]
    fn search_pattern_is_linear_or_refused_in_one_line() {
        assert!(SearchPattern::parse("(a+)+$").unwrap().finds("xaaa"));
        let message = |source: &str| SearchPattern::parse(source).unwrap_err().message;
        assert_eq!(message("a("), "the pattern does not compile: unclosed group");
        assert_eq!(
            message("(?=a)"),
            "the pattern does not compile: look-around, including look-ahead and look-behind, \
             is not supported"
        );
        assert_eq!(message(&"a".repeat(1001)), "the pattern has more than 1000 characters");
        assert_eq!(message("(a{1000}){1000}"), "the pattern is too large when it is compiled");
    }
}
