//! Text sanitising: foreign words made clean, short, and valid where a name is wanted.

use std::collections::HashSet;

pub(crate) use haft_model::is_shown;

use haft_model::{Digest, cleaned};

/// A tool's id has at most this many characters.
const LONGEST_ID: usize = 80;

/// Several lines without anything that hides, moves or colours text.
pub(crate) fn prose(text: &str, most: usize) -> String {
    let clean = cleaned(text).replace('\t', "");
    let mut lines: Vec<&str> = Vec::new();
    for line in clean.lines().map(str::trim_end) {
        if !(line.is_empty() && lines.last().is_none_or(|last| last.is_empty())) {
            lines.push(line);
        }
    }
    capped(lines.join("\n").trim(), most)
}

/// One line of the same.
pub(crate) fn line(text: &str, most: usize) -> String {
    capped(&cleaned(text).split_whitespace().collect::<Vec<_>>().join(" "), most)
}

fn capped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", head.trim_end())
}

/// Lowercase words with dashes: `listPetsByID` is `list-pets-by-id`.
pub(crate) fn slug(text: &str) -> String {
    // One word, whatever its capitals say.
    let letters: Vec<char> = text.replace("OAuth", "Oauth").chars().collect();
    let mut slug = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at)).copied().unwrap_or(' ');
        let after = letters.get(at + 1).copied().unwrap_or(' ');
        let begins = letter.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || (before.is_ascii_uppercase() && after.is_ascii_lowercase()));
        let plain = letter.is_ascii_alphanumeric();
        if (begins || !plain) && !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if plain {
            slug.push(letter.to_ascii_lowercase());
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// The requested prefix of ids; `None` where ids cannot begin with it.
pub(crate) fn prefix(id: &str) -> Option<String> {
    let fits = (2..=40).contains(&id.len()) && id == slug(id);
    fits.then(|| id.to_owned())
}

/// The default prefix of ids: a name as a slug, or `other`.
pub(crate) fn shortened_prefix(name: &str, other: &str) -> String {
    let short: String = slug(name).chars().take(40).collect();
    let short = short.trim_end_matches('-');
    if short.len() < 2 { other.to_owned() } else { short.to_owned() }
}

/// An id below a prefix: slashes and dots become namespaces.
pub(crate) fn tool_id(prefix: &str, name: &str) -> String {
    let parts = name.split(['/', '.', ':']).map(slug).filter(|part| !part.is_empty());
    let id = std::iter::once(prefix.to_owned()).chain(parts).collect::<Vec<_>>().join(".");
    shortened(id, name)
}

/// An id that is not too long; what is cut off is told apart by a digest.
fn shortened(id: String, name: &str) -> String {
    if id.len() <= LONGEST_ID {
        return id;
    }
    let digest = Digest::of_bytes(name.as_bytes());
    let mark: String =
        digest.as_str().rsplit(':').next().unwrap_or_default().chars().take(6).collect();
    let head: String = id.chars().take(LONGEST_ID - 7).collect();
    format!("{}-{mark}", head.trim_end_matches(['-', '.']))
}

/// `GITHUB_BEARER_AUTH`.
pub(crate) fn environment_name(parts: &[&str]) -> String {
    let name = parts.iter().map(|part| slug(part)).filter(|part| !part.is_empty());
    let name = name.collect::<Vec<_>>().join("-").replace('-', "_").to_ascii_uppercase();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// A slug that begins with a letter and has 2 to 38 characters, as the parts of a secret's name do.
pub(crate) fn secret_slug(text: &str) -> String {
    let slug = slug(text);
    let begins = slug.starts_with(|c: char| c.is_ascii_lowercase()) && slug.len() > 1;
    let slug = if begins { slug } else { format!("key-{slug}") };
    slug.chars().take(38).collect::<String>().trim_end_matches('-').to_owned()
}

/// A name that a template can look at: letters, digits, `_` and `-`.
pub(crate) fn input_name(wire: &str) -> String {
    let fits = |c: char| if c.is_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = wire.chars().map(fits).collect();
    let name = name.trim_matches('_');
    if name.is_empty() { "value".to_owned() } else { name.to_owned() }
}

/// Names of which each is given once.
#[derive(Debug, Default)]
pub(crate) struct UniqueNames(HashSet<String>);

impl UniqueNames {
    /// Takes the first of some names that is free, or the last with a number.
    pub(crate) fn first_free(&mut self, names: &[String]) -> String {
        if let Some(free) = names.iter().find(|name| !self.0.contains(*name)) {
            self.0.insert(free.clone());
            return free.clone();
        }
        let last = names.last().cloned().unwrap_or_default();
        let head: String = last.chars().take(LONGEST_ID - 5).collect();
        let numbered = (2u32..).map(|number| format!("{head}-{number}"));
        let free = numbered.into_iter().find(|name| !self.0.contains(name)).unwrap_or(last);
        self.0.insert(free.clone());
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_peoples_names_become_ids() {
        for (name, id) in [
            ("listPetsByID", "api.list-pets-by-id"),
            ("repos/list-for-org", "api.repos.list-for-org"),
            ("get_/pets/{petId}", "api.get.pets.pet-id"),
            ("APIKey--2", "api.api-key-2"),
            ("Größe.lesen", "api.gr-e.lesen"),
            ("…", "api"),
        ] {
            assert_eq!(tool_id("api", name), id, "{name}");
        }
        let long = tool_id("api", &"word ".repeat(40));
        assert!(long.len() <= 80 && long.starts_with("api.word-word"), "{long}");
        assert_eq!(environment_name(&["pet store", "apiKey"]), "PET_STORE_API_KEY");
        assert_eq!(input_name("filter[name]"), "filter_name");
    }

    #[test]
    fn what_hides_in_a_text_is_taken_out() {
        let sly = "a\u{1b}[31mb\u{202e}c\u{200b}d\u{e0041}e\r\n\n\n\nf \t\n";
        assert_eq!(prose(sly, 100), "abcde\n\nf");
        assert_eq!(line(sly, 100), "abcde f");
        assert_eq!(line("one two three", 6), "one t…");
    }
}
