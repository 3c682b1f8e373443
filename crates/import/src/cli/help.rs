//! Help parser: reads help texts in the styles of clap, argparse, cobra, GNU and git.

use super::option::Flag;
use super::usage::{self, Positional};
use crate::text;

/// A parsed help text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Help {
    /// The program's description, in its own words.
    pub about: String,
    /// Subcommands with what they do.
    pub subcommands: Vec<(String, String)>,
    pub(super) flags: Vec<Flag>,
    pub(super) positionals: Vec<Positional>,
}

/// What the lines below a heading are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Before,
    Usage,
    Flags,
    Arguments,
    Commands,
    Other,
}

impl Help {
    /// Reads a help text. What is not understood is left out.
    pub fn read(text: &str) -> Help {
        let clean = plain(text);
        let lines: Vec<&str> = clean.lines().collect();
        let mut help = Help { positionals: usage::positionals(&lines), ..Help::default() };
        let mut section = Section::Before;
        let mut about: Vec<&str> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            if let Some(next) = heading(line) {
                section = next;
                continue;
            }
            // What the program does may stand right below how it is called.
            if section == Section::Usage && !line.starts_with(' ') {
                section = Section::Before;
            }
            let below = lines.get(at + 1..).unwrap_or_default();
            if line.trim_start().starts_with('-') && section != Section::Commands {
                help.flags.extend(Flag::read(line, below));
                section = Section::Flags;
                continue;
            }
            match section {
                Section::Before => about.push(line),
                Section::Commands => help.subcommands.extend(commands(line)),
                Section::Arguments => usage::describe(&mut help.positionals, line, below),
                Section::Usage | Section::Flags | Section::Other => {}
            }
        }
        help.about = self::about(&about);
        help.flags.dedup_by(|one, other| one.input == other.input);
        help
    }

    /// Whether the text is about its subcommands, and running it without one does nothing.
    pub(super) fn is_only_a_list(&self) -> bool {
        !self.subcommands.is_empty() && self.positionals.is_empty()
    }
}

/// A text without what moves the cursor or colours letters, and with spaces for tabs.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\u{8}' => {
                out.pop();
            }
            '\t' => out.push_str("    "),
            letter => out.push(letter),
        }
    }
    haft_model::cleaned(&out).into_owned()
}

fn heading(line: &str) -> Option<Section> {
    let lower = line.trim().to_lowercase();
    if lower.starts_with("usage:") || lower == "usage" || lower == "synopsis" {
        return Some(Section::Usage);
    }
    let indented = line.starts_with(' ');
    let name = lower.strip_suffix(':').filter(|_| !indented)?;
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    Some(if has(&["command"]) {
        Section::Commands
    } else if has(&["option", "flag"]) {
        Section::Flags
    } else if has(&["argument", "positional"]) {
        Section::Arguments
    } else {
        Section::Other
    })
}

/// The subcommands on a line: one with what it does beside it, or names and nothing else.
fn commands(line: &str) -> Vec<(String, String)> {
    let indent = line.len() - line.trim_start().len();
    if !(1..=8).contains(&indent) {
        return Vec::new();
    }
    match line.trim().split_once("  ") {
        // `add, a` and `add|a` name one command.
        Some((names, about)) => command(names, about).into_iter().collect(),
        None => line.split(',').filter_map(|name| command(name.trim(), "")).collect(),
    }
}

fn command(names: &str, about: &str) -> Option<(String, String)> {
    let name = names.split([',', '|', ' ', '*']).next()?.trim_end_matches(':');
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_name = !name.is_empty() && name.chars().all(fits) && !name.starts_with('-');
    let helps = ["help", "completion", "completions"].contains(&name);
    (is_name && !helps).then(|| (name.to_owned(), text::line(about, 300)))
}

/// The first paragraph that is prose.
fn about(lines: &[&str]) -> String {
    let text = lines.join("\n");
    let mut paragraphs = text.split("\n\n").map(|part| text::line(part, 600));
    let is_prose = |part: &String| part.contains(' ') && !part.starts_with(['-', '<', '[']);
    paragraphs.find(is_prose).unwrap_or_default()
}
