//! Terminal sanitising: makes untrusted text harmless for a terminal.

use haft_model::is_shown;

/// A text in which everything that would move a cursor, hide words or turn them around is spelled
/// out. Lines and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => safe.push(character),
            _ if is_shown(character) => safe.push(character),
            _ => safe.extend(character.escape_unicode()),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_told_what_to_do() {
        let hostile = "red\u{1b}[31m \u{9b}2J \u{202e}txt\u{7}\n\tä€";
        let expected = "red\\u{1b}[31m \\u{9b}2J \\u{202e}txt\\u{7}\n\tä€";
        assert_eq!(visible(hostile), expected);
    }
}
