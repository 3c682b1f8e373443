//! Text sanitization: removes control, bidi and invisible characters from foreign text.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Whether a character is visible as it is: no control, bidi, zero-width or tag character.
pub fn is_shown(letter: char) -> bool {
    !letter.is_control()
        && !matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Sanitizes backend text for models and people: removes terminal escape sequences and characters
/// that hide, move or reverse text. Line breaks and tabs stay.
pub fn cleaned(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let stays = |letter: char| letter == '\n' || letter == '\t' || is_shown(letter);
    // Nearly every text is plain, and costs one scan.
    if text.bytes().all(plain) || text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => match letters.next_if(|next| matches!(next, ' '..='~')) {
                Some('[') => skip_sequence(&mut letters),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut letters),
                // The sequence has two characters, or three where the first says so.
                Some(' '..='/') => drop(letters.next_if(|next| matches!(next, '0'..='~'))),
                Some(_) | None => {}
            },
            '\u{9b}' => skip_sequence(&mut letters),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut letters),
            letter if stays(letter) => clean.push(letter),
            // Other line endings become one line feed; CR before LF is dropped.
            '\r' if letters.peek() == Some(&'\n') => {}
            '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => clean.push('\n'),
            _ => {}
        }
    }
    Cow::Owned(clean)
}

/// Sanitizes every string and key of a backend's value for models and people. Programs read the
/// value itself.
pub fn cleaned_value(value: &Value) -> Cow<'_, Value> {
    match is_clean(value) {
        true => Cow::Borrowed(value),
        false => Cow::Owned(clean_copy(value)),
    }
}

fn is_clean(value: &Value) -> bool {
    let is_clean_text = |text: &str| matches!(cleaned(text), Cow::Borrowed(_));
    match value {
        Value::String(text) => is_clean_text(text),
        Value::Array(items) => items.iter().all(is_clean),
        Value::Object(fields) => {
            fields.iter().all(|(name, item)| is_clean_text(name) && is_clean(item))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

fn clean_copy(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(cleaned(text).into_owned()),
        Value::Array(items) => items.iter().map(clean_copy).collect(),
        Value::Object(fields) => {
            let mut clean = Map::new();
            for (name, item) in fields {
                let mut shown = cleaned(name).into_owned();
                // A key that collides with another once sanitized is escaped instead, so that
                // neither is lost.
                if clean.contains_key(&shown) || (shown != *name && fields.contains_key(&shown)) {
                    shown = name.escape_default().to_string();
                }
                clean.insert(shown, clean_copy(item));
            }
            Value::Object(clean)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

type Letters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Skips the rest of a control sequence, up to its final character.
fn skip_sequence(letters: &mut Letters<'_>) {
    while letters.next_if(|next| matches!(next, ' '..='?')).is_some() {}
    letters.next_if(|next| matches!(next, '@'..='~'));
}

/// Skips a terminal string, such as a title, up to its terminator on the same line. An unterminated
/// one hides nothing but its introducer.
fn skip_string(letters: &mut Letters<'_>) {
    let mut ahead = letters.clone();
    while let Some(letter) = ahead.next() {
        match letter {
            '\n' => return,
            '\u{7}' | '\u{9c}' => {
                *letters = ahead;
                return;
            }
            '\u{1b}' if ahead.peek() == Some(&'\\') => {
                ahead.next();
                *letters = ahead;
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaned_text_steers_no_terminal() {
        for (text, told) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("grüße 日本 🙂", "grüße 日本 🙂"),
            ("a\u{1b}[31mred\u{1b}[0m b", "ared b"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;http://x\u{1b}\\link", "link"),
            ("\u{1b}]never ends\nnext", "never ends\nnext"),
            ("\u{9b}2Jwiped \u{1b}c\u{1b}(Breset", "wiped reset"),
            ("one\r\ntwo\u{8}\u{0}", "one\ntwo"),
            ("10%\r20%\u{2028}30%", "10%\n20%\n30%"),
            ("abc\u{202e}txt.exe\u{202c}", "abctxt.exe"),
            ("\u{2066}x\u{2069}\u{200b}y\u{feff}z\u{e0041}", "xyz"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
        ] {
            assert_eq!(cleaned(text), told, "{text:?}");
        }
    }

    #[test]
    fn cleaned_value_keeps_every_member() {
        let value = serde_json::json!({
            "a\u{202e}": ["x\u{200b}y", 1, null, { "\u{9b}31mk": "\u{e0041}" }], "a": true, "b\u{feff}": 2,
        });
        let told = serde_json::json!({
            "a\\u{202e}": ["xy", 1, null, { "k": "" }], "a": true, "b": 2,
        });
        assert_eq!(*cleaned_value(&value), told);
        assert!(matches!(cleaned_value(&told), Cow::Borrowed(_)));
    }

    #[test]
    fn cleaned_text_of_any_letters_holds_none_that_hide() {
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        let mut below = |most: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % most
        };
        const SLY: [char; 18] = [
            '\u{1b}',
            '[',
            ']',
            '\u{7}',
            '\\',
            'm',
            '3',
            ';',
            '\u{9b}',
            '\u{9d}',
            '\u{202e}',
            '\u{2066}',
            '\u{200d}',
            '\u{e0041}',
            '\r',
            '\n',
            '\t',
            'x',
        ];
        for _ in 0..20_000 {
            let text: String = (0..below(24))
                .filter_map(|_| match below(4) {
                    0 => char::from_u32(below(0x11_0000) as u32),
                    _ => SLY.get(below(SLY.len() as u64) as usize).copied(),
                })
                .collect();
            let clean = cleaned(&text);
            let stays = |letter: char| letter == '\n' || letter == '\t' || is_shown(letter);
            assert!(clean.chars().all(stays), "{text:?} became {clean:?}");
            assert_eq!(cleaned(&clean), clean, "{text:?}");
        }
    }
}
