//! Shell word splitting: splits a command line into words where every shell agrees, and refuses the
//! rest.

/// Characters with a meaning to a shell.
const SPECIAL: [char; 19] =
    [';', '|', '&', '<', '>', '(', ')', '`', '$', '{', '}', '*', '?', '[', ']', '~', '#', '!', '^'];

/// Characters with a meaning inside double quotes.
const QUOTED: [char; 4] = ['$', '`', '\\', '!'];

/// Words of one plain command; `None` where a shell would do more with the line.
pub(crate) fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.trim_matches([' ', '\t', '\n', '\r']).chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => word.get_or_insert_default().push_str(&quoted(&mut letters, letter, &[])?),
            '"' => word.get_or_insert_default().push_str(&quoted(&mut letters, letter, &QUOTED)?),
            '\\' => {
                let escaped = letters.next().filter(|letter| !letter.is_control())?;
                word.get_or_insert_default().push(escaped);
            }
            special if SPECIAL.contains(&special) || is_strange(special) => return None,
            // A variable assignment may change which command runs.
            '=' if words.is_empty() => return None,
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    (!words.is_empty()).then_some(words)
}

/// Text between two quotes; `None` if a shell reads more into it.
fn quoted(letters: &mut std::str::Chars<'_>, quote: char, special: &[char]) -> Option<String> {
    let mut text = String::new();
    loop {
        match letters.next()? {
            end if end == quote => return Some(text),
            letter if special.contains(&letter) || letter == '\0' => return None,
            letter => text.push(letter),
        }
    }
}

/// Returns true for a character that shells treat differently.
fn is_strange(letter: char) -> bool {
    letter.is_control() || (letter.is_whitespace() && !matches!(letter, ' ' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_are_split_and_shell_syntax_is_refused() {
        let parted = |line: &str| words(line).map(|words| words.join("|"));
        for (line, expected) in [
            ("git log", Some("git|log")),
            (" git \t log ", Some("git|log")),
            ("git\tlog\n", Some("git|log")),
            (r"\rm x", Some("rm|x")),
            (r#""rm" x"#, Some("rm|x")),
            ("r''m 'a b'", Some("rm|a b")),
            (r#"git commit -m "it's; fine""#, Some("git|commit|-m|it's; fine")),
            ("git log --format=%h", Some("git|log|--format=%h")),
            ("git log ''", Some("git|log|")),
            ("X=1 rm x", None),
            ("ls; rm x", None),
            ("ls\nrm x", None),
            ("$(rm x)", None),
            ("r$@m x", None),
            (r#""$X" x"#, None),
            ("rm 'x", None),
            ("rm *", None),
            ("rm ~/x", None),
            ("/b?n/rm x", None),
            ("r\\\nm x", None),
            ("rm\u{a0}x", None),
            ("  ", None),
        ] {
            assert_eq!(parted(line).as_deref(), expected, "{line:?}");
        }
    }
}
