//! Text of strangers, made harmless for a terminal.

/// A text in which everything that would move a cursor, hide words or turn them around is spelled
/// out. Lines and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => safe.push(character),
            '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => safe.extend(character.escape_unicode()),
            _ if character.is_control() => safe.extend(character.escape_unicode()),
            _ => safe.push(character),
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
