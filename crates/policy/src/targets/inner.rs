//! Launcher parsing: finds the command that a known launcher runs by its arguments.

use std::ops::Range;

use super::command::{ProgramFile, is_of_kernel};
use super::launchers::{Launcher, Nature, PLAIN_SETTINGS, RUNNING};
use super::words::words;

/// Shell flags that do not change what the shell reads.
const SHELL_FLAGS: &str = "eux";

/// What the arguments say about the inner program.
pub(super) enum Inner {
    Nothing,
    Words(InnerCommand),
    Opaque,
}

/// Inner command of a launcher.
pub(super) struct InnerCommand {
    pub(super) words: Vec<String>,
    /// The inner command receives further arguments at run time.
    pub(super) open: bool,
    /// Range of the arguments that it consists of.
    pub(super) within: Range<usize>,
}

/// Parses the arguments by the nature of the program.
pub(super) fn inner(
    nature: Nature,
    arguments: &[String],
    file: &dyn Fn(&str) -> ProgramFile,
) -> Inner {
    let is_script = |word: &str| is_script(word, file);
    match nature {
        Nature::Launcher(launcher) => launched(&launcher, arguments),
        Nature::Shell => read_by_shell(arguments, &is_script),
        Nature::Interpreter(options) => interpreted(options, arguments, &is_script),
        Nature::Finder => found(arguments),
        Nature::Git => read_by_git(arguments),
        Nature::Opaque => Inner::Opaque,
        Nature::OpaqueWith(options) => {
            match arguments.iter().any(|argument| is_option(argument, options)) {
                true => Inner::Opaque,
                false => Inner::Nothing,
            }
        }
    }
}

/// Program that a launcher runs; an option outside of the table makes it opaque.
fn launched(launcher: &Launcher, arguments: &[String]) -> Inner {
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.peek().filter(|word| word.starts_with('-')) {
        let (name, value) =
            word.split_once('=').map_or((word.as_str(), None), |(n, v)| (n, Some(v)));
        let short = word.get(..2).unwrap_or(word);
        if *word == "--" {
            words.next();
            break;
        } else if launcher.flags.contains(&word.as_str()) {
            words.next();
        } else if launcher.valued.contains(&name) {
            words.next();
            if value.is_none() {
                words.next();
            }
        } else if !word.starts_with("--") && (launcher.valued.contains(&short) || is_number(word)) {
            words.next();
        } else {
            return Inner::Opaque;
        }
    }
    if launcher.variables {
        while words.next_if(|word| word.contains('=')).is_some() {}
    }
    let rest: Vec<String> = words.skip(launcher.operands).cloned().collect();
    match rest.first() {
        None => Inner::Nothing,
        // An option after the operands, as in `flock FILE -c LINE`, is beyond the table.
        Some(first) if first.starts_with('-') => Inner::Opaque,
        Some(_) => {
            let within = arguments.len() - rest.len()..arguments.len();
            Inner::Words(InnerCommand { words: rest, open: launcher.adds, within })
        }
    }
}

/// `-5`, as `nice` takes it.
fn is_number(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Parses a shell's arguments: a line, a script, or opaque input.
fn read_by_shell(arguments: &[String], is_script: &dyn Fn(&str) -> bool) -> Inner {
    let asks = |word: &String| matches!(word.as_str(), "--version" | "--help");
    match arguments {
        [only] if asks(only) => Inner::Nothing,
        [flags, line, ..] if is_cluster(flags, "ceulx") && flags.contains('c') => {
            match words(line) {
                Some(words) => {
                    // A line of plain words ignores the arguments after it.
                    Inner::Words(InnerCommand { words, open: false, within: 0..arguments.len() })
                }
                None => Inner::Opaque,
            }
        }
        [flags, script, ..] if is_cluster(flags, SHELL_FLAGS) && is_script(script) => {
            Inner::Nothing
        }
        [script, ..] if is_script(script) => Inner::Nothing,
        _ => Inner::Opaque,
    }
}

fn is_cluster(word: &str, letters: &str) -> bool {
    word.strip_prefix('-').is_some_and(|cluster| {
        !cluster.is_empty() && cluster.chars().all(|letter| letters.contains(letter))
    })
}

/// Returns true if a word names an existing file, rather than text from the call itself.
fn is_script(word: &str, file: &dyn Fn(&str) -> ProgramFile) -> bool {
    if word.is_empty() || word.starts_with(['-', '+']) || is_of_kernel(word) {
        return false;
    }
    // A script is looked up in the working folder, unlike a program of the same name.
    let path = if word.contains('/') { word.to_owned() } else { format!("./{word}") };
    match file(&path) {
        ProgramFile::At(real) => !is_of_kernel(&real),
        ProgramFile::Missing => false,
        ProgramFile::Unknown => true,
    }
}

/// Parses an interpreter's arguments: opaque for program text, nothing for a script file.
fn interpreted(options: &[&str], arguments: &[String], is_script: &dyn Fn(&str) -> bool) -> Inner {
    match arguments {
        [only] if matches!(only.as_str(), "--version" | "--help" | "-V" | "-v" | "-h") => {
            Inner::Nothing
        }
        // An option may take a value, so a script is certain only in first position.
        [script, ..] if is_script(script) && !options.contains(&script.as_str()) => Inner::Nothing,
        [] => Inner::Opaque,
        all => {
            let text = all.iter().any(|argument| argument == "-" || is_option(argument, options));
            let script = all.iter().any(|argument| is_script(argument));
            if text || !script { Inner::Opaque } else { Inner::Nothing }
        }
    }
}

/// Returns true if a word is one of the options, also clustered or joined with its value.
fn is_option(word: &str, options: &[&str]) -> bool {
    let long = |option: &&str| {
        word.strip_prefix(*option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    let short = |option: &&str| {
        let letter = option.strip_prefix('-').filter(|letter| letter.chars().count() == 1);
        letter.is_some_and(|letter| {
            word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
        })
    };
    options.iter().any(|option| long(option) || short(option))
}

/// Parses git's arguments: opaque where a setting or an option may name a program.
fn read_by_git(arguments: &[String]) -> Inner {
    const RUNS: [&str; 5] = ["--exec", "-x", "--upload-pack", "--receive-pack", "-O"];
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-c" => {
                let plain = |setting: &String| {
                    PLAIN_SETTINGS.iter().any(|known| setting.to_lowercase().starts_with(known))
                };
                if !words.next().is_some_and(plain) {
                    return Inner::Opaque;
                }
            }
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => {
                words.next();
            }
            option if is_option(option, &["--config-env", "--exec-path"]) => return Inner::Opaque,
            option if option.starts_with('-') => {}
            command if RUNNING.contains(&command) => return Inner::Opaque,
            _ => break,
        }
    }
    match words.any(|word| RUNS.iter().any(|option| is_option(word, &[option]))) {
        true => Inner::Opaque,
        false => Inner::Nothing,
    }
}

/// Parses the command that `find` runs for each file, whose names only the run shows.
fn found(arguments: &[String]) -> Inner {
    const RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
    let mut runs = arguments.iter().enumerate().filter(|(_, word)| RUNS.contains(&word.as_str()));
    match (runs.next(), runs.next()) {
        (None, _) => Inner::Nothing,
        (Some((at, _)), None) => {
            let after = arguments.iter().skip(at + 1);
            let words: Vec<String> =
                after.take_while(|word| !matches!(word.as_str(), ";" | "+")).cloned().collect();
            match words.first().is_none_or(|program| program.contains("{}")) {
                true => Inner::Opaque,
                false => {
                    let within = at + 1..at + 1 + words.len();
                    Inner::Words(InnerCommand { words, open: true, within })
                }
            }
        }
        (Some(_), Some(_)) => Inner::Opaque,
    }
}
