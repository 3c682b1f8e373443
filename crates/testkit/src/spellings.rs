//! Spelling generator: random variants of an address, a path or a command, from a seed.
//!
//! A judge and a driver that read one of them differently are a way past a rule. Tests and fuzzers draw
//! from here and compare what was judged with what was reached.

use crate::SeededRandom;

/// Another spelling of `http://host:port/path`, which may also be an invalid one.
pub fn url(random: &mut SeededRandom, host: &str, port: u16, path: &[&str]) -> String {
    let mut url = random.choose(&["", "", "", " ", "\t", "\n", "\u{1}"]).to_owned();
    for letter in "http".chars() {
        url.push(if random.one_in(6) { letter.to_ascii_uppercase() } else { letter });
        stray(random, &mut url);
    }
    url.push_str(random.choose(&["://", "://", "://", ":\\\\", ":/", ":", ":///", ":/\\"]));
    url.push_str(random.choose(&["", "", "", "", "", "", "", "", "", "", "user@", "a:b@"]));
    for letter in host.chars() {
        host_letter(random, letter, &mut url);
        stray(random, &mut url);
    }
    url.push_str(random.choose(&["", "", "", ".", "%2E", "。"]));
    url.push_str(&format!(":{}{port}", random.choose(&["", "", "0", "000"])));
    for segment in path {
        url.push_str(random.choose(&[
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
            match random.below(8) {
                0 => url.push_str(&format!("%{:02x}", u32::from(letter))),
                1 if random.one_in(4) => url.push_str(&format!("%25{:02X}", u32::from(letter))),
                _ => url.push(letter),
            }
            stray(random, &mut url);
        }
    }
    url.push_str(random.choose(&["", "", "", "?", "?q=1", "#f", "?q#f", "#", " ", "\r\n"]));
    url
}

fn host_letter(random: &mut SeededRandom, letter: char, url: &mut String) {
    match (letter, random.below(10)) {
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

fn stray(random: &mut SeededRandom, url: &mut String) {
    if random.one_in(40) {
        url.push_str(random.choose(&["\t", "\n", "\r"]));
    }
}

/// Another spelling of a path. The first of the names may be any of its aliases, and `folder` is one
/// that can be entered and left again.
pub fn path(random: &mut SeededRandom, aliases: &[&str], rest: &str, folder: &str) -> String {
    let mut path = String::new();
    for _ in 0..random.below(3) {
        let detour = format!("{folder}/../");
        path.push_str(random.choose(&["./", ".//", &detour, "././"]));
    }
    path.push_str(random.choose(aliases));
    if !rest.is_empty() {
        let detour = format!("/../{}/", random.choose(aliases));
        path.push_str(random.choose(&["/", "/", "//", "/./", "/.//./", &detour]));
        path.push_str(rest);
    }
    path
}

/// A program and an argument behind any number of launchers, as a list of words.
pub fn words(random: &mut SeededRandom, programs: &[&str], argument: &str) -> Vec<String> {
    let mut words = vec![random.choose(programs).to_owned(), argument.to_owned()];
    for _ in 0..random.below(4) {
        let before = random.choose(&[
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

/// A program and an argument somewhere among the arguments of any other program, which may or may not
/// start it. Some of those that do come often enough for a test to meet them.
pub fn launched(
    random: &mut SeededRandom,
    programs: &[&str],
    program: &str,
    argument: &str,
) -> Vec<String> {
    const LAUNCHERS: [&str; 10] = [
        "flock /tmp/l",
        "flock /tmp/l -c",
        "prlimit --core=0",
        "setarch i686",
        "split",
        "env A=1",
        "xargs -n 1",
        "nice",
        "ionice -c 3",
        "taskset -c 0",
    ];
    const WORDS: [&str; 9] = ["-c", "-e", "-f", "--", "1", "/tmp/l", "-x", "-a", "-n"];
    let mut words: Vec<String> = Vec::new();
    if random.one_in(2) {
        words.extend(random.choose(&LAUNCHERS).split(' ').map(str::to_owned));
    } else {
        words.push(random.choose(programs).to_owned());
        for _ in 0..random.below(3) {
            words.push(random.choose(&WORDS).to_owned());
        }
    }
    let option = random.choose(&["--filter", "--command", "-c", "--exec", "-e"]);
    match random.below(5) {
        0 => words.push(format!("{program} {argument}")),
        1 => words.push(format!("{option}={program} {argument}")),
        2 => words.extend([option.to_owned(), format!("{program} {argument}")]),
        _ => words.extend([program.to_owned(), argument.to_owned()]),
    }
    words
}

/// A program and an argument as one line for a shell.
pub fn line(random: &mut SeededRandom, programs: &[&str], argument: &str) -> String {
    let program = random.choose(programs);
    let mut spelled = String::new();
    for letter in program.chars() {
        match random.below(9) {
            0 => spelled.push_str(&format!("\\{letter}")),
            1 => spelled.push_str(&format!("'{letter}'")),
            2 => spelled.push_str(&format!("\"{letter}\"")),
            3 if random.one_in(3) => spelled.push_str(&format!("''{letter}")),
            4 if random.one_in(6) => spelled.push_str(&format!("$(echo '{letter}')")),
            _ => spelled.push(letter),
        }
    }
    let before = random.choose(&[
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
    let gap = random.choose(&[" ", " ", "\t", "  ", "\\\n ", "${IFS}"]);
    let after = match before {
        "(" => ")",
        "if true; then " => "; fi",
        _ => random.choose(&["", "", " ", " &", " 2>&1", ";", "\n"]),
    };
    format!("{before}{spelled}{gap}{argument}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_spellings() {
        let draw = |seed| {
            let mut random = SeededRandom::new(seed);
            (0..50).map(|_| url(&mut random, "bank.example", 80, &["pay"])).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
