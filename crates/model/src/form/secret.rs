//! Secret detection in forms: refuses fields that ask for secrets. A form never carries one.

use serde_json::Value;

use super::text;

/// Words that denote a secret.
const SECRETS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "secrets",
    "token",
    "credential",
    "credentials",
    "otp",
    "totp",
    "pin",
    "cvv",
    "cvc",
    "apikey",
    "passkey",
];

/// Words that denote a secret before `key`.
const KEYS: &[&str] =
    &["api", "access", "private", "secret", "signing", "auth", "encryption", "ssh"];

/// Why a field looks like a secret, if it does. By their names, choices, lists and booleans never
/// do.
pub(super) fn looks_like_one(name: &str, described: &Value) -> Option<&'static str> {
    let kind = text(described, "type");
    let chosen = described.get("enum").is_some() || described.get("oneOf").is_some();
    if text(described, "format") == "password" {
        return Some("has the format `password`");
    }
    if described.get("writeOnly") == Some(&Value::Bool(true)) {
        return Some("is to be written and never read");
    }
    if chosen || kind == "boolean" || kind == "array" {
        return None;
    }
    let called = |words: &str| {
        let words = words_of(words);
        let key = words.windows(2).any(|pair| match pair {
            [first, second] => KEYS.contains(&first.as_str()) && second == "key",
            _ => false,
        });
        // A number, such as a token count, is no secret.
        let counted = kind != "string";
        let secret = words.iter().any(|word| match word.as_str() {
            "token" | "secret" | "secrets" => !counted,
            word => SECRETS.contains(&word),
        });
        key || secret
    };
    if called(name) {
        return Some("is named like one");
    }
    called(text(described, "title")).then_some("has the title of one")
}

/// The words of a name, split at case changes and separators.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        let begins = letter.is_uppercase() && before.is_lowercase();
        if (begins || !letter.is_alphanumeric())
            && words.last().is_some_and(|word| !word.is_empty())
        {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}
