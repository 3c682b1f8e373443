//! Exact decimals: whether the canonical text of a number denotes the number that was written.

/// Significant digits that every normal double preserves.
const KEPT_DIGITS: usize = 15;

/// Powers of ten within the range of full double precision.
const KEPT_POWERS: std::ops::RangeInclusive<i64> = -290..=290;

/// Whether a JSON number denotes the same decimal number as its canonical text (RFC 8785), which is
/// that of the nearest double. Text that is no number is not exact.
pub fn is_exact_number(text: &[u8]) -> bool {
    let Some(written) = Decimal::read(text) else { return false };
    let digits = written.digit_count();
    if digits == 0 || (digits <= KEPT_DIGITS && KEPT_POWERS.contains(&written.power)) {
        return true;
    }
    let parsed = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
    let Some(double) = parsed.filter(|double| double.is_finite()) else { return false };
    // The shortest digits that round-trip, and of two such the even ones: those of canonical JSON.
    // The standard library's formatter breaks the tie differently.
    let mut shortest = [0_u8; 40];
    let mut rest = shortest.as_mut_slice();
    if serde_json::to_writer(&mut rest, &double).is_err() {
        return false;
    }
    let left = rest.len();
    let text = shortest.get(..shortest.len().saturating_sub(left)).unwrap_or_default();
    Decimal::read(text).is_some_and(|told| written.is_same(&told))
}

/// A decimal number by its digits: `whole` and `fraction` concatenated, without zeros at either
/// end, times ten to `power`.
struct Decimal<'t> {
    is_negative: bool,
    whole: &'t [u8],
    fraction: &'t [u8],
    power: i64,
}

impl<'t> Decimal<'t> {
    fn read(text: &'t [u8]) -> Option<Decimal<'t>> {
        let (is_negative, text) = match text.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            Some(at) => (text.get(..at)?, exponent(text.get(at + 1..)?)?),
            None => (text, 0),
        };
        let (whole, fraction) = match mantissa.iter().position(|byte| *byte == b'.') {
            Some(at) => (mantissa.get(..at)?, mantissa.get(at + 1..)?),
            None => (mantissa, &[][..]),
        };
        let is_digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
        if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        Some(Decimal::trimmed(is_negative, whole, fraction, exponent))
    }

    fn trimmed(
        is_negative: bool,
        whole: &'t [u8],
        fraction: &'t [u8],
        exponent: i64,
    ) -> Decimal<'t> {
        let mut whole = without_leading(whole);
        let mut fraction = without_trailing(fraction);
        let mut power = exponent.saturating_sub(length(fraction));
        if whole.is_empty() {
            fraction = without_leading(fraction);
        }
        if fraction.is_empty() {
            let kept = without_trailing(whole);
            // Where the fraction was all zeros it is gone by now, and counts for nothing.
            power = exponent.saturating_add(length(whole) - length(kept));
            whole = kept;
        }
        Decimal { is_negative, whole, fraction, power }
    }

    fn digit_count(&self) -> usize {
        self.whole.len() + self.fraction.len()
    }

    fn is_same(&self, other: &Decimal<'_>) -> bool {
        let digits = |one: &Decimal<'t>| one.whole.iter().chain(one.fraction);
        let theirs = other.whole.iter().chain(other.fraction);
        self.is_negative == other.is_negative
            && self.power == other.power
            && digits(self).eq(theirs)
    }
}

/// A power of ten, saturating.
fn exponent(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut power = 0_i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        power = power.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
    }
    Some(if is_negative { -power } else { power })
}

fn length(digits: &[u8]) -> i64 {
    i64::try_from(digits.len()).unwrap_or(i64::MAX)
}

fn without_leading(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.get(zeros..).unwrap_or_default()
}

fn without_trailing(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
    digits.get(..digits.len() - zeros).unwrap_or_default()
}
