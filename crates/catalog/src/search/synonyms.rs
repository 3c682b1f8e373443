//! Synonyms: a small table of general words, a group a line.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::words::stem;

const GROUPS: &str = include_str!("synonyms.txt");

/// The stems of the words that may stand for one, which is not among them.
pub(super) fn of(word: &str) -> &'static [&'static str] {
    static TABLE: OnceLock<HashMap<&str, Vec<&str>>> = OnceLock::new();
    TABLE.get_or_init(table).get(word).map(Vec::as_slice).unwrap_or_default()
}

fn table() -> HashMap<&'static str, Vec<&'static str>> {
    let mut table: HashMap<&str, Vec<&str>> = HashMap::new();
    for line in GROUPS.lines() {
        let group: Vec<&str> = line.split_whitespace().map(stem).collect();
        for one in &group {
            let others = table.entry(one).or_default();
            for other in &group {
                if other != one && !others.contains(other) {
                    others.push(other);
                }
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_others_of_all_its_groups() {
        assert_eq!(of("fetch"), ["get", "retriev", "obtain", "acquir"]);
        assert_eq!(of("forecast"), ["estimat", "predict", "prediction", "weather", "climat"]);
        assert!(of("zyzzyva").is_empty());
    }
}
