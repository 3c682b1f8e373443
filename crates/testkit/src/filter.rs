//! Output filter: replaces digests and times in a text.

/// How a digest begins.
const DIGEST: &str = "sha256:";

/// How many hexadecimal digits a digest has.
const DIGITS: usize = 64;

/// Units of times, the longer ones first where one begins with another.
const UNITS: [&str; 5] = ["ms", "µs", "us", "ns", "s"];

/// Replaces each `sha256:` with its 64 digits by `[digest]`.
pub(crate) fn digests(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(DIGEST) {
        out.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_hexdigit).count();
        rest = match after.split_at_checked(DIGITS) {
            Some((_, left)) if digits == DIGITS => {
                out.push_str("[digest]");
                left
            }
            Some(_) | None => {
                out.push_str(DIGEST);
                after
            }
        };
    }
    out + rest
}

/// Replaces each time such as `3ms`, `1.5 s` or `250 µs` by `[time]`.
pub(crate) fn times(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let in_a_word = out.chars().next_back().is_some_and(goes_on);
        let (kept, left) = match time_at_start(rest) {
            Some(left) if !in_a_word => ("[time]", left),
            Some(_) | None => rest.split_at(next.len_utf8()),
        };
        out.push_str(kept);
        rest = left;
    }
    out
}

/// What follows the time that a text begins with.
fn time_at_start(text: &str) -> Option<&str> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    let mut rest = text.get(whole..).filter(|_| whole > 0)?;
    if let Some(fraction) = rest.strip_prefix('.').filter(|fraction| digits(fraction) > 0) {
        rest = fraction.get(digits(fraction)..)?;
    }
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    let after_unit = |unit: &&str| rest.strip_prefix(*unit);
    UNITS.iter().find_map(after_unit).filter(|left| !left.starts_with(is_in_word))
}

/// Whether a number after this character belongs to what stands before it, as in `v1.5`.
fn goes_on(character: char) -> bool {
    is_in_word(character) || matches!(character, '.' | '-')
}

fn is_in_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_needs_all_its_digits() {
        let digest = format!("sha256:{}", "a1".repeat(32));
        assert_eq!(digests(&format!("a {digest}, {digest}.")), "a [digest], [digest].");
        assert_eq!(digests("sha256:abc and sha256:<hex>"), "sha256:abc and sha256:<hex>");
        let longer = format!("{digest}0");
        assert_eq!(digests(&longer), longer);
    }

    #[test]
    fn times_are_numbers_with_a_unit_and_nothing_else() {
        for (text, expected) in [
            ("done in 3ms", "done in [time]"),
            ("(1.52 s, 250 µs)", "([time], [time])"),
            ("took 7s.", "took [time]."),
            ("3 strings, 2 sets, v1.5s", "3 strings, 2 sets, v1.5s"),
            ("timeout_ms: 30000", "timeout_ms: 30000"),
            ("P7D and PT10M", "P7D and PT10M"),
        ] {
            assert_eq!(times(text), expected, "{text}");
        }
    }
}
