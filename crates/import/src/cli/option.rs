//! Option parser: one option of a program, `-o, --output <FILE>  Where to write`.

use serde_json::{Value, json};

use crate::text;

/// Options that say something about the program instead of running it.
const ABOUT_ITSELF: [&str; 5] = ["help", "version", "usage", "h", "V"];

/// An option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flag {
    /// What it is written as.
    pub(super) spelled: String,
    /// What its input is called.
    pub(super) input: String,
    /// What it takes; nothing for one that is only there or not.
    pub(super) value: Option<Value>,
    pub(super) about: String,
}

impl Flag {
    /// Reads an option and the lines that go on about it.
    pub(super) fn read(line: &str, below: &[&str]) -> Option<Flag> {
        let line = line.trim();
        let (spec, about) = columns(line);
        let about = format!("{about} {}", continued(below));
        let spelled = spellings(spec);
        let long = spelled.iter().find(|name| name.starts_with("--"));
        let spelled = long.or_else(|| spelled.first())?.clone();
        let name = spelled.trim_start_matches('-').to_owned();
        // `-NUM` stands for numbers, and is no option.
        let stands_for = !spelled.starts_with("--")
            && name.len() > 1
            && name.chars().all(|c| c.is_ascii_uppercase());
        if name.is_empty() || stands_for || ABOUT_ITSELF.contains(&name.as_str()) {
            return None;
        }
        let about = text::line(&about, 500);
        let value = placeholder(spec, &spelled).map(|placeholder| schema(&placeholder, &about));
        let input = text::input_name(&name).replace('-', "_");
        Some(Flag { spelled, input, value, about })
    }
}

/// What is written, and what it means: two spaces or more stand between.
fn columns(line: &str) -> (&str, String) {
    match line.split_once("  ") {
        Some((spec, about)) => (spec.trim(), about.trim().to_owned()),
        None => (line, String::new()),
    }
}

/// The lines below that are not options themselves and belong to one.
fn continued(below: &[&str]) -> String {
    let mut own: Vec<&str> = Vec::new();
    for line in below.iter().take(8) {
        let text = line.trim_start();
        // Behind a blank line only what stands as far in as clap puts it belongs.
        let least = if own.contains(&"") { 10 } else { 6 };
        if text.starts_with('-') || (!text.is_empty() && line.len() - text.len() < least) {
            break;
        }
        own.push(text.trim_end());
    }
    own.join(" ")
}

/// Every way to write an option: `-o, --output <FILE>` is two.
fn spellings(spec: &str) -> Vec<String> {
    let words = spec.split([',', ' ', '|', '/']).filter(|word| word.starts_with('-'));
    let name = |word: &str| -> String {
        // `--[no-]quiet` is `--quiet`.
        let word = word.replace("[no-]", "");
        let end = word.find(['=', '[', '<', ':']).unwrap_or(word.len());
        word.get(..end).unwrap_or_default().trim_end_matches('.').to_owned()
    };
    let fits = |name: &String| {
        let bare = name.trim_start_matches('-');
        !bare.is_empty() && bare.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    words.map(name).filter(fits).collect()
}

/// What stands for the value, if the option takes one: `<FILE>`, `=FILE`, `FILE` or `string`.
fn placeholder(spec: &str, spelled: &str) -> Option<String> {
    let plain = spec.replace("[no-]", "").replace("[-]", "");
    let after = plain.split_once(spelled).map(|(_, after)| after).unwrap_or_default();
    // In `--foo FOO, -f FOO` the value stands behind each.
    let after = after.split(", -").next().unwrap_or_default().trim();
    // A value that may be left out is left out.
    if after.is_empty() || after.starts_with('[') || after.starts_with("...") {
        return None;
    }
    let bare = after.trim_start_matches(['=', ' ']).trim_matches(['<', '>', '[', ']']);
    (!bare.is_empty() && !bare.starts_with('-')).then(|| bare.to_owned())
}

fn schema(placeholder: &str, about: &str) -> Value {
    let choices = braces(placeholder).or_else(|| possible(about));
    if let Some(choices) = choices {
        return json!({ "type": "string", "enum": choices });
    }
    let word = placeholder.trim_matches(['<', '>']).to_lowercase();
    let whole = [
        "int", "int32", "int64", "uint", "uint16", "uint32", "n", "num", "number", "count", "port",
        "lines",
    ];
    match whole.contains(&word.as_str()) {
        true => json!({ "type": "integer" }),
        false => json!({ "type": "string" }),
    }
}

/// `{one,two}`.
fn braces(placeholder: &str) -> Option<Vec<String>> {
    let inner = placeholder.strip_prefix('{')?.split('}').next()?;
    listed(inner)
}

/// `[possible values: one, two]`.
fn possible(about: &str) -> Option<Vec<String>> {
    let (_, rest) = about.split_once("[possible values: ")?;
    listed(rest.split(']').next()?)
}

fn listed(text: &str) -> Option<Vec<String>> {
    let mut choices: Vec<String> = Vec::new();
    for choice in text.split(',').map(str::trim).filter(|choice| !choice.is_empty()) {
        if !choices.iter().any(|known| known == choice) {
            choices.push(choice.to_owned());
        }
    }
    (!choices.is_empty()).then_some(choices)
}
