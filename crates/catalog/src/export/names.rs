//! Provider names: no two tools share a name, and a name depends on nothing but the offers.

use std::collections::{BTreeMap, BTreeSet};

use haft_model::{Digest, ToolKey};

/// A provider's rule for names.
pub(super) struct NameRule {
    /// The longest name.
    pub(super) longest: usize,
    /// Characters it takes besides ASCII letters and digits.
    pub(super) punctuation: &'static [char],
    /// Whether a name has to begin with a letter or an underscore.
    pub(super) letter_first: bool,
}

/// A name for each key, in the order of the keys.
///
/// A tool whose id is a good name keeps it. The others get underscores for what is refused, and a
/// part of their key's digest where that is too long or no longer unique.
pub(super) fn assign(rule: &NameRule, tools: &[(ToolKey, Option<&str>)]) -> Vec<String> {
    let keys: Vec<ToolKey> = tools.iter().map(|(key, _)| key.clone()).collect();
    let plain = |(key, exposed): &(ToolKey, Option<&str>)| {
        rule.mangled(&exposed.map_or_else(|| plain(key, &keys), str::to_owned))
    };
    let wanted: Vec<String> = tools.iter().map(plain).collect();
    let mut asked = BTreeMap::new();
    for name in &wanted {
        *asked.entry(name.as_str()).or_insert(0_usize) += 1;
    }
    let keeps = |key: &ToolKey, name: &String| {
        name.len() <= rule.longest
            && (asked.get(name.as_str()) == Some(&1) || key.id.as_str() == name)
    };
    let pairs = || keys.iter().zip(&wanted);
    let mut taken: BTreeSet<String> =
        pairs().filter(|(key, name)| keeps(key, name)).map(|(_, name)| name.clone()).collect();
    pairs()
        .map(
            |(key, name)| {
                if keeps(key, name) { name.clone() } else { rule.marked(key, name, &mut taken) }
            },
        )
        .collect()
}

/// The id, with the major of every version but the highest.
fn plain(key: &ToolKey, keys: &[ToolKey]) -> String {
    let highest = keys.iter().filter(|other| other.id == key.id).map(|other| other.major).max();
    if highest == Some(key.major) {
        key.id.to_string()
    } else {
        format!("{}_v{}", key.id, key.major)
    }
}

impl NameRule {
    fn takes(&self, character: char) -> bool {
        character.is_ascii_alphanumeric() || self.punctuation.contains(&character)
    }

    fn mangled(&self, text: &str) -> String {
        let name: String = text.chars().map(|c| if self.takes(c) { c } else { '_' }).collect();
        let first = name.chars().next();
        let fine = first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        if first.is_none() || (self.letter_first && !fine) { format!("_{name}") } else { name }
    }

    /// A truncated name with eight digits of the key's digest, unique among the names taken.
    fn marked(&self, key: &ToolKey, name: &str, taken: &mut BTreeSet<String>) -> String {
        const DIGITS: usize = 8;
        let beginning: String = name.chars().take(self.longest - DIGITS - 1).collect();
        let mut seed = key.to_string();
        loop {
            let digest = Digest::of(&seed);
            let digits = digest.as_str().trim_start_matches("sha256:");
            let candidate = format!("{beginning}_{}", digits.get(..DIGITS).unwrap_or(digits));
            if taken.insert(candidate.clone()) {
                return candidate;
            }
            // A tool may be named like another's digest; the next digest is as good.
            seed = digits.to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: NameRule = NameRule { longest: 20, punctuation: &['_', '-'], letter_first: true };

    fn names(keys: &[(&str, u64)]) -> Vec<String> {
        let keys: Vec<_> = keys.iter().map(|(id, major)| ToolKey::new(id, *major)).collect();
        let tools: Vec<_> = keys.into_iter().map(|key| (key, None)).collect();
        assign(&STRICT, &tools)
    }

    #[test]
    fn dots_become_underscores() {
        assert_eq!(names(&[("pay.charge", 1), ("pay-charge", 1)]), ["pay_charge", "pay-charge"]);
    }

    #[test]
    fn majors_below_the_highest_say_so() {
        assert_eq!(names(&[("pay.charge", 1), ("pay.charge", 2)]), ["pay_charge_v1", "pay_charge"]);
    }

    #[test]
    fn colliding_names_keep_valid_id_and_suffix_the_other() {
        assert_eq!(names(&[("a.b", 1), ("a_b", 1)]), ["a_b_b59b8491", "a_b"]);
    }

    #[test]
    fn long_ids_with_the_same_beginning_stay_apart() {
        let found = names(&[("a.very.long.id.for.one", 1), ("a.very.long.id.for.two", 1)]);
        assert!(found.iter().all(|name| name.len() == 20 && name.starts_with("a_very_long_")));
        assert_ne!(found[0], found[1]);
    }

    #[test]
    fn digest_suffix_never_takes_name_of_existing_tool() {
        let marked = names(&[("a.b", 1), ("a_b", 1)]).remove(0);
        let found = names(&[("a.b", 1), ("a_b", 1), (&marked, 1)]);
        assert_eq!(BTreeSet::from_iter(&found).len(), 3, "{found:?}");
        assert_eq!(found[2], marked);
    }

    #[test]
    fn a_digit_does_not_come_first() {
        assert_eq!(names(&[("7zip.pack", 1)]), ["_7zip_pack"]);
    }
}
