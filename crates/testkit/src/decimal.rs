//! Decimal comparison of JSON numbers, without a double in between.

/// The text of a JSON number by its sign, its significant digits and its power of ten: two texts denote
/// the same number exactly where these are equal.
pub fn decimal(text: &str) -> (bool, String, i64) {
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut power = exponent.parse::<i64>().unwrap_or(i64::MAX / 2) - fraction.len() as i64;
    let mut digits = format!("{whole}{fraction}").trim_start_matches('0').to_owned();
    while digits.ends_with('0') {
        digits.pop();
        power += 1;
    }
    if digits.is_empty() { (false, digits, 0) } else { (is_negative, digits, power) }
}

/// Texts of JSON numbers from a seed: arbitrary digits and powers, and many near the edge of what a double
/// keeps.
pub struct NumberTexts(pub u64);

impl Iterator for NumberTexts {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let sign = if self.below(3) == 0 { "-" } else { "" };
        let body = match self.below(6) {
            0 => (9_007_199_254_740_972_u64 + self.below(40)).to_string(),
            1 => u64::MAX.wrapping_sub(self.below(3000)).to_string(),
            2 => format!("{:e}", f64::from_bits(self.0 & 0x7fef_ffff_ffff_ffff)),
            3 => format!("{}.{}", self.whole(), self.digits(25)),
            4 => {
                let power = self.below(700) as i64 - 350;
                format!("{}.{}e{power}", self.whole(), self.digits(6))
            }
            _ => {
                let (whole, zeros) = (self.whole(), "0".repeat(self.below(12) as usize));
                if whole == "0" { whole } else { format!("{whole}{zeros}") }
            }
        };
        Some(format!("{sign}{body}"))
    }
}

impl NumberTexts {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn digits(&mut self, most: u64) -> String {
        let count = 1 + self.below(most);
        (0..count).map(|_| char::from(b'0' + self.below(10) as u8)).collect()
    }

    fn whole(&mut self) -> String {
        let digits = self.digits(22);
        let trimmed = digits.trim_start_matches('0');
        if trimmed.is_empty() { "0".to_owned() } else { trimmed.to_owned() }
    }
}
