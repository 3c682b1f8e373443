//! Other spellings of an address, a path or a command, made at random from a seed.
//!
//! A judge and a driver that read one of them differently are a way past a rule. Tests and fuzzers draw
//! from here and compare what was judged with what was reached.

/// Chance that can be repeated: the same seed, the same throws.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice with a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// A number below a bound; 0 where the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // SplitMix64: every seed gives a full sequence.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        usize::try_from(bits >> 1).unwrap_or_default().checked_rem(bound).unwrap_or_default()
    }

    /// Whether something happens that happens once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of several texts.
    pub fn pick<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts.get(self.below(texts.len())).copied().unwrap_or_default()
    }
}

/// Another spelling of `http://host:port/path`, which may also be one that nobody reads.
pub fn url(dice: &mut Dice, host: &str, port: u16, path: &[&str]) -> String {
    let mut url = dice.pick(&["", "", "", " ", "\t", "\n", "\u{1}"]).to_owned();
    for letter in "http".chars() {
        url.push(if dice.once_in(6) { letter.to_ascii_uppercase() } else { letter });
        stray(dice, &mut url);
    }
    url.push_str(dice.pick(&["://", "://", "://", ":\\\\", ":/", ":", ":///", ":/\\"]));
    url.push_str(dice.pick(&["", "", "", "", "", "", "", "", "", "", "user@", "a:b@"]));
    for letter in host.chars() {
        host_letter(dice, letter, &mut url);
        stray(dice, &mut url);
    }
    url.push_str(dice.pick(&["", "", "", ".", "%2E", "。"]));
    url.push_str(&format!(":{}{port}", dice.pick(&["", "", "0", "000"])));
    for segment in path {
        url.push_str(dice.pick(&[
            "/",
            "/",
            "/",
            "//",
            "\\",
            "/./",
            "/x/../",
            "/%2e/",
            "/x/%2E%2e/",
            "/x/.%2e/",
        ]));
        for letter in segment.chars() {
            match dice.below(8) {
                0 => url.push_str(&format!("%{:02x}", u32::from(letter))),
                1 if dice.once_in(4) => url.push_str(&format!("%25{:02X}", u32::from(letter))),
                _ => url.push(letter),
            }
            stray(dice, &mut url);
        }
    }
    url.push_str(dice.pick(&["", "", "", "?", "?q=1", "#f", "?q#f", "#", " ", "\r\n"]));
    url
}

fn host_letter(dice: &mut Dice, letter: char, url: &mut String) {
    match (letter, dice.below(10)) {
        ('.', 0) => url.push('。'),
        ('.', 1) => url.push_str("%2e"),
        (_, 0) => url.push(letter.to_ascii_uppercase()),
        (_, 1) => url.push_str(&format!("%{:02X}", u32::from(letter))),
        // The wide letters that the web takes for the narrow ones.
        ('a'..='z' | '0'..='9', 2) => {
            url.push(char::from_u32(u32::from(letter) + 0xFEE0).unwrap_or(letter));
        }
        _ => url.push(letter),
    }
}

fn stray(dice: &mut Dice, url: &mut String) {
    if dice.once_in(40) {
        url.push_str(dice.pick(&["\t", "\n", "\r"]));
    }
}

/// Another spelling of a path. The first of the names may be any of its aliases, and `folder` is one
/// that can be entered and left again.
pub fn path(dice: &mut Dice, aliases: &[&str], rest: &str, folder: &str) -> String {
    let mut path = String::new();
    for _ in 0..dice.below(3) {
        let detour = format!("{folder}/../");
        path.push_str(dice.pick(&["./", ".//", &detour, "././"]));
    }
    path.push_str(dice.pick(aliases));
    if !rest.is_empty() {
        let detour = format!("/../{}/", dice.pick(aliases));
        path.push_str(dice.pick(&["/", "/", "//", "/./", "/.//./", &detour]));
        path.push_str(rest);
    }
    path
}

/// A program and an argument behind any number of launchers, as a list of words.
pub fn words(dice: &mut Dice, programs: &[&str], argument: &str) -> Vec<String> {
    let mut words = vec![dice.pick(programs).to_owned(), argument.to_owned()];
    for _ in 0..dice.below(4) {
        let before = dice.pick(&[
            "env",
            "env -i PATH=/usr/bin:/bin",
            "env A=1",
            "env -u B",
            "nice",
            "nice -n 1",
            "timeout 5",
            "timeout -k 1 5",
            "nohup",
            "setsid -w",
            "stdbuf -o0",
            "xargs",
            "busybox env",
            "sh -c",
            "bash -c",
            "bash -ec",
            "time",
            "ionice -c 3",
            "env --",
            "chrt -o 0",
        ]);
        let mut outer: Vec<String> = before.split(' ').map(str::to_owned).collect();
        match before.ends_with('c') && before.contains("sh ") {
            true => outer.push(words.join(" ")),
            false => outer.extend(words),
        }
        words = outer;
    }
    words
}

/// A program and an argument as one line for a shell.
pub fn line(dice: &mut Dice, programs: &[&str], argument: &str) -> String {
    let program = dice.pick(programs);
    let mut spelled = String::new();
    for letter in program.chars() {
        match dice.below(9) {
            0 => spelled.push_str(&format!("\\{letter}")),
            1 => spelled.push_str(&format!("'{letter}'")),
            2 => spelled.push_str(&format!("\"{letter}\"")),
            3 if dice.once_in(3) => spelled.push_str(&format!("''{letter}")),
            4 if dice.once_in(6) => spelled.push_str(&format!("$(echo '{letter}')")),
            _ => spelled.push(letter),
        }
    }
    let before = dice.pick(&[
        "",
        "",
        "",
        " ",
        "\t",
        "\n",
        "env ",
        "command ",
        "exec ",
        "nice ",
        "A=1 ",
        "true; ",
        "true && ",
        "true\n",
        ": | ",
        "eval ",
        "echo x | xargs ",
        "\\env ",
        "(",
        "! ",
        "if true; then ",
        "time ",
    ]);
    let gap = dice.pick(&[" ", " ", "\t", "  ", "\\\n ", "${IFS}"]);
    let after = match before {
        "(" => ")",
        "if true; then " => "; fi",
        _ => dice.pick(&["", "", " ", " &", " 2>&1", ";", "\n"]),
    };
    format!("{before}{spelled}{gap}{argument}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_spellings() {
        let draw = |seed| {
            let mut dice = Dice::new(seed);
            (0..50).map(|_| url(&mut dice, "bank.example", 80, &["pay"])).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
