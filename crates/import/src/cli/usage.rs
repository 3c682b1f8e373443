//! Usage parser: the positional arguments in a program's usage line.

use crate::text;

/// Words in a usage line that stand for options or subcommands.
const NOT_VALUES: [&str; 9] = [
    "options",
    "option",
    "flags",
    "command",
    "commands",
    "subcommand",
    "args",
    "global options",
    "cmd",
];

/// An argument without a name before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Positional {
    pub(super) input: String,
    pub(super) required: bool,
    pub(super) about: String,
}

/// The arguments of the first way of calling that the help shows.
pub(super) fn positionals(lines: &[&str]) -> Vec<Positional> {
    let mut found: Vec<Positional> = Vec::new();
    // Options with a value, as argparse shows them, are not arguments.
    for word in words(&first_usage(lines)) {
        let optional = word.starts_with('[');
        let bare = word.split(' ').next().unwrap_or_default();
        let bare = bare.trim_matches(['[', ']', '<', '>', '.', '…', '(', ')']);
        let lower = bare.to_lowercase();
        let is_name = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        if bare.is_empty()
            || NOT_VALUES.contains(&lower.as_str())
            || bare.starts_with('-')
            || !bare.chars().all(is_name)
        {
            continue;
        }
        let input = text::input_name(&lower).replace('-', "_");
        if !found.iter().any(|other| other.input == input) {
            found.push(Positional { input, required: !optional, about: String::new() });
        }
    }
    found
}

/// Takes what a section of arguments says of them.
pub(super) fn describe(positionals: &mut [Positional], line: &str, below: &[&str]) {
    let (name, about) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
    let name = name.trim_matches(['[', ']', '<', '>', '.', '…']).to_lowercase();
    let input = text::input_name(&name).replace('-', "_");
    let known = positionals.iter_mut().find(|positional| positional.input == input);
    if let Some(positional) = known {
        let next = below.first().map(|line| line.trim()).unwrap_or_default();
        positional.about = text::line(if about.is_empty() { next } else { about }, 300);
    }
}

/// The text of the first usage, over as many lines as it takes.
fn first_usage(lines: &[&str]) -> String {
    let at = lines.iter().position(|line| line.trim().to_lowercase().starts_with("usage"));
    let Some(at) = at else { return String::new() };
    let head = lines.get(at).map(|line| line.trim()).unwrap_or_default();
    let head = head.split_once(':').map_or("", |(_, rest)| rest).trim();
    let mut usage = head.to_owned();
    for line in lines.get(at + 1..).unwrap_or_default() {
        let text = line.trim();
        let next = text.to_lowercase();
        // Another way of calling, or the end.
        if (!usage.is_empty() && !line.starts_with(' ')) || (text.is_empty() && !usage.is_empty()) {
            break;
        }
        if next.starts_with("or:") || next.starts_with("or ") || next.starts_with('-') {
            break;
        }
        if head.is_empty() && !usage.is_empty() {
            break;
        }
        usage = format!("{usage} {text}").trim().to_owned();
    }
    usage
}

/// The words behind the names of the program and its subcommands, brackets kept together.
fn words(usage: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut depth, mut word) = (0usize, String::new());
    for letter in usage.chars() {
        match letter {
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if letter == ' ' && depth == 0 {
            words.push(std::mem::take(&mut word));
        } else {
            word.push(letter);
        }
    }
    words.push(word);
    let is_value = |word: &String| {
        let bare = word.trim_matches('.');
        word.starts_with(['<', '[', '('])
            || (bare.len() > 1
                && bare.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c == '-'))
    };
    // Names of programs are plain words, and so are the arguments of argparse behind its options.
    let first = words.iter().position(is_value).unwrap_or(words.len());
    let mut rest: Vec<String> = words.split_off(first.min(words.len()));
    // A value that follows an option belongs to it.
    let mut after_option = false;
    rest.retain(|word| {
        let belongs = after_option && !word.starts_with(['[', '-']);
        after_option = word.starts_with('-');
        !word.is_empty() && !belongs && !word.starts_with('-') && !word.starts_with("[-")
    });
    rest
}
