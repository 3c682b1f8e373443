//! Spelling correction: the edit distance from an unknown word to the known words.

/// Shorter words are near too many others.
const SHORTEST: usize = 4;
/// From this length on, two slips are forgiven instead of one.
const LONG: usize = 8;

/// How many slips are forgiven in a word; none in one that may be a number or a code.
pub(super) fn forgiven(word: &str) -> usize {
    match word.chars().count() {
        _ if word.chars().any(|c| !c.is_alphabetic()) => 0,
        ..SHORTEST => 0,
        SHORTEST..LONG => 1,
        LONG.. => 2,
    }
}

/// Whether so few slips could lead from one to the other, told by length and by which letters are
/// there at all: a slip takes at most one letter out and brings one in. Most words fall out here.
pub(super) fn may_be_near(one: &str, other: &str, most: usize) -> bool {
    let letters = |word: &str| word.bytes().fold(0u32, |set, byte| set | 1 << (byte & 31));
    let far = letters(one) ^ letters(other);
    let near = one.len().abs_diff(other.len()) <= most && far.count_ones() as usize <= 2 * most;
    near || !one.is_ascii() || !other.is_ascii()
}

/// How many letters have to be put in, left out, replaced or swapped with their neighbour; none if
/// it is more than `most`.
pub(super) fn distance(one: &str, other: &str, most: usize) -> Option<usize> {
    let other: Vec<char> = other.chars().collect();
    if one.chars().count().abs_diff(other.len()) > most {
        return None;
    }
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    let mut previous = None;
    for (row, c) in one.chars().enumerate() {
        let mut line = Vec::with_capacity(last.len());
        line.push(row + 1);
        let mut left = row + 1;
        let mut before = None;
        for (column, (d, above)) in other.iter().zip(last.windows(2)).enumerate() {
            let &[diagonal, above] = above else { continue };
            let mut steps = (diagonal + usize::from(c != *d)).min(above + 1).min(left + 1);
            if before == Some(c) && previous == Some(*d) {
                let swapped = column.checked_sub(1).and_then(|at| before_last.get(at));
                steps = swapped.map_or(steps, |at| steps.min(at + 1));
            }
            line.push(steps);
            left = steps;
            before = Some(*d);
        }
        if line.iter().all(|steps| *steps > most) {
            return None;
        }
        previous = Some(c);
        before_last = std::mem::replace(&mut last, line);
    }
    last.last().copied().filter(|steps| *steps <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted_and_a_swap_is_one() {
        let pairs = [
            ("weather", "weather", Some(0)),
            ("wether", "weather", Some(1)),
            ("waether", "weather", Some(1)),
            ("calender", "calendar", Some(1)),
            ("translat", "tranzlatt", Some(2)),
            ("abcd", "wxyz", None),
            ("ab", "abcde", None),
            ("größe", "grösse", Some(2)),
        ];
        for (one, other, steps) in pairs {
            let near = may_be_near(one, other, 2);
            assert!(near || steps.is_none(), "{one} {other}");
            assert_eq!(distance(one, other, 2), steps, "{one} {other}");
            assert_eq!(distance(other, one, 2), steps, "{other} {one}");
        }
    }

    #[test]
    fn short_words_and_codes_are_taken_as_they_are() {
        let forgiven = ["cat", "wether", "calender", "ab12cd34"].map(forgiven);
        assert_eq!(forgiven, [0, 1, 2, 0]);
    }
}
