//! Name folding: whether two spellings are one name on the most lenient file system.

/// Whether a name could match a segment of a pattern: `*` is any name, `*.x` any with that suffix.
pub(super) fn is_same(step: &str, name: &str) -> bool {
    if step == "*" {
        return true;
    }
    let plain = name.trim_end_matches(['.', ' ']);
    if plain.is_ascii() {
        return is_ascii_same(step, plain);
    }
    is_ascii_same(step, folded(name).trim_end_matches(['.', ' ']))
}

/// Whether a name could be protected at every depth: all such names begin with a dot, and non-ASCII
/// characters may fold to one.
pub(super) fn is_candidate(name: &str) -> bool {
    name.starts_with('.') || !name.is_ascii()
}

fn is_ascii_same(step: &str, name: &str) -> bool {
    match step.strip_prefix('*') {
        Some(end) => {
            let start = name.len().checked_sub(end.len());
            let tail = start.filter(|start| *start > 0).and_then(|start| name.get(start..));
            tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end))
        }
        None => step.eq_ignore_ascii_case(name),
    }
}

/// A name with ignored characters removed and case folded. Upper case comes first: `ſ` and `ﬁ` have
/// ASCII forms only there.
fn folded(name: &str) -> String {
    let seen = name.chars().filter(|letter| !is_ignored(*letter));
    let upper: String = seen.flat_map(char::to_uppercase).collect();
    upper.chars().flat_map(char::to_lowercase).collect()
}

/// Characters that HFS+ ignores in comparisons.
fn is_ignored(letter: char) -> bool {
    matches!(
        letter,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
    )
}
