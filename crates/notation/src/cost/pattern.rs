//! Size of a regular expression's automaton, estimated from its text.

/// About how many states a pattern has, which each byte of a text may visit; counted repetitions multiply
/// what they repeat.
pub(super) fn states(pattern: &str) -> u64 {
    let mut outer: Vec<u64> = Vec::new();
    let (mut total, mut last) = (0_u64, 0_u64);
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
                (total, last) = (total.saturating_add(last), 1);
            }
            '[' => {
                while let Some(inside) = letters.next().filter(|inside| *inside != ']') {
                    if inside == '\\' {
                        letters.next();
                    }
                }
                (total, last) = (total.saturating_add(last), 1);
            }
            '(' => {
                outer.push(total.saturating_add(last));
                (total, last) = (0, 0);
            }
            ')' => (total, last) = (outer.pop().unwrap_or(0), total.saturating_add(last)),
            '{' => {
                let mut bounds = String::new();
                while let Some(bound) = letters.next_if(|bound| matches!(bound, '0'..='9' | ',')) {
                    bounds.push(bound);
                }
                let most = bounds.split(',').filter_map(|bound| bound.parse::<u64>().ok()).max();
                last = last.saturating_mul(most.unwrap_or(1).max(1));
            }
            '}' | '*' | '+' | '?' | '^' | '$' | '|' => {}
            _ => (total, last) = (total.saturating_add(last), 1),
        }
    }
    let open: u64 = outer.iter().fold(0, |sum, one| sum.saturating_add(*one));
    open.saturating_add(total).saturating_add(last).max(1)
}
