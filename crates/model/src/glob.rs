//! Globs: `*` stands for any run of characters, everything else for itself.
//!
//! Whole-string and case-sensitive. Rules of a workspace use them for tools, actions and actors.

use serde::Serialize;

/// A pattern in which `*` matches any run of characters, dots and the empty run included.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Glob(Box<str>);

impl Glob {
    /// A glob; every text is one.
    pub fn new(source: &str) -> Glob {
        Glob(source.into())
    }

    /// The glob as written.
    pub fn source(&self) -> &str {
        &self.0
    }

    /// Whether a whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        let Some((head, rest)) = self.0.split_once('*') else { return *self.0 == *text };
        let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
        let inner = text.strip_prefix(head).and_then(|text| text.strip_suffix(tail));
        // Matching each piece at its first occurrence leaves the most for the rest, so there is no
        // backtracking: the time is linear in the text and the glob together.
        let end = middle.split('*').try_fold(inner, |inner, piece| {
            let inner = inner?;
            inner.find(piece).map(|at| inner.get(at + piece.len()..))
        });
        end.flatten().is_some()
    }
}

/// The steps of a path pattern before its first wildcard: `docs` and `en` of `./docs/en/*.md`.
pub fn fixed_steps(pattern: &str) -> impl Iterator<Item = &str> {
    let steps = pattern.split('/').take_while(|step| !step.contains(['*', '?', '[', '{']));
    steps.filter(|step| !matches!(*step, "" | "."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_star_matches_any_run_and_rest_is_literal() {
        let cases = [
            ("git.log", "git.log", true),
            ("git.log", "git.logs", false),
            ("git.log", "gitxlog", false),
            ("git.*", "git.log", true),
            ("git.*", "git.", true),
            ("git.*", "git", false),
            ("git.*", "git.remote.add", true),
            ("*", "", true),
            ("*", "anything at all", true),
            ("", "", true),
            ("", "a", false),
            ("*.read", "fs.read", true),
            ("*.read", "fs.read.all", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("ab*ba", "abba", true),
            ("a**b", "ab", true),
            ("*a*", "bab", true),
            ("*a*", "bbb", false),
            ("agent:*", "Agent:x", false),
            ("café*", "café au lait", true),
            ("*é", "café", true),
        ];
        for (glob, text, expected) in cases {
            assert_eq!(Glob::new(glob).matches(text), expected, "{glob} on {text}");
        }
    }

    #[test]
    fn many_stars_on_a_long_text_cost_no_backtracking() {
        let glob = Glob::new(&"a*".repeat(2_000));
        assert!(glob.matches(&"a".repeat(100_000)));
        assert!(!Glob::new(&format!("{}b", "a*".repeat(2_000))).matches(&"a".repeat(100_000)));
    }
}
