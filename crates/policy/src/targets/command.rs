//! Commands as rules compare them: every program that the arguments show, by every name that it has.

use haft_model::Glob;
use serde::Serialize;

use super::launchers::{Launcher, Nature, PLAIN_SETTINGS, RUNNING, nature};
use super::words::words;

/// How deep launchers may start launchers before nobody follows.
const DEEPEST: usize = 16;

/// What a shell is given besides a script without changing what it reads.
const SHELL_FLAGS: &str = "eux";

/// A command and the commands that it starts, as far as its arguments show them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommandLine {
    /// The programs, the one that is started first.
    programs: Vec<Program>,
    /// Whether it runs something that its arguments do not show.
    opaque: bool,
}

/// One program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Program {
    /// The name it is called by.
    called: String,
    /// Where it really is, all links followed, where that is known.
    real: Option<String>,
    /// What it is given.
    arguments: Vec<String>,
    /// Whether it is given more that only the run will show.
    open: bool,
}

/// What a program's arguments say about the one that it runs.
enum Inner {
    Nothing,
    Words(Vec<String>, bool),
    Opaque,
}

impl CommandLine {
    /// A command by its words, as a system starts it. `real` says where a program really is.
    pub fn of(argv: &[String], real: &dyn Fn(&str) -> Option<String>) -> CommandLine {
        let mut line = CommandLine::default();
        let mut ahead = vec![(argv.to_vec(), false)];
        while let Some((argv, open)) = ahead.pop() {
            let Some((called, arguments)) = argv.split_first().filter(|(name, _)| !name.is_empty())
            else {
                line.opaque = true;
                continue;
            };
            if line.programs.len() >= DEEPEST {
                line.opaque = true;
                break;
            }
            let real = real(called);
            let names = [Some(base(called)), real.as_deref().map(base)];
            let mut natures: Vec<Nature> = names.into_iter().flatten().filter_map(nature).collect();
            if names[0] == names[1] {
                natures.truncate(1);
            }
            for nature in natures {
                match inner(nature, arguments) {
                    Inner::Nothing => {}
                    Inner::Words(words, more) => ahead.push((words, open || more)),
                    Inner::Opaque => line.opaque = true,
                }
            }
            let (called, arguments) = (called.clone(), arguments.to_vec());
            line.programs.push(Program { called, real, arguments, open });
        }
        line
    }

    /// A command in one text, which a shell may read. What is more than plain words is opaque.
    pub fn text(line: &str, real: &dyn Fn(&str) -> Option<String>) -> CommandLine {
        match words(line) {
            Some(words) => CommandLine::of(&words, real),
            None => CommandLine { programs: Vec::new(), opaque: true },
        }
    }

    /// Whether it runs something that its arguments do not show.
    pub fn is_opaque(&self) -> bool {
        self.opaque
    }

    /// Whether a pattern that holds back is about it.
    pub(crate) fn is_held(&self, pattern: &str) -> bool {
        let globs = patterns(pattern);
        let fits = |program: &Program| globs.iter().any(|glob| program.is_held(glob));
        self.opaque || self.programs.iter().any(fits)
    }

    /// Whether a pattern that lets go is about it.
    pub(crate) fn is_let_go(&self, pattern: &str) -> bool {
        let glob = Glob::new(pattern);
        let first = self.programs.first();
        !self.opaque && first.is_some_and(|program| program.is_let_go(&glob))
    }
}

impl Program {
    fn is_held(&self, glob: &Glob) -> bool {
        let real = self.real.as_deref();
        let names = [Some(&*self.called), Some(base(&self.called)), real, real.map(base)];
        names.into_iter().flatten().any(|name| match self.open {
            true => could_begin(glob, name),
            false => glob.matches(&self.written(name)),
        })
    }

    /// Both the name that it is called by and what it really is have to fit: `git` may be a link.
    fn is_let_go(&self, glob: &Glob) -> bool {
        let fits = |name: &str| glob.matches(&self.written(name));
        let really = |real: &str| fits(real) || fits(base(real));
        !self.open
            && !self.called.contains(char::is_whitespace)
            && fits(&self.called)
            && self.real.as_deref().is_none_or(really)
    }

    fn written(&self, name: &str) -> String {
        std::iter::once(name)
            .chain(self.arguments.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// The globs that a pattern which holds back means: a program that it names by a path is meant by its
/// name too, since a path has many spellings.
fn patterns(pattern: &str) -> Vec<Glob> {
    let plain = pattern.trim();
    let (program, rest) = plain.split_at(plain.find(' ').unwrap_or(plain.len()));
    let named = format!("{}{rest}", base(program));
    let mut sources = vec![pattern.to_owned(), plain.to_owned()];
    if !base(program).is_empty() && base(program) != "*" {
        sources.push(named);
    }
    // What is held with any arguments is held without.
    let bare = sources.iter().filter_map(|source| source.strip_suffix(" *").map(str::to_owned));
    let bare: Vec<String> = bare.collect();
    sources.extend(bare);
    sources.dedup();
    sources.iter().map(|source| Glob::new(source)).collect()
}

/// Whether a glob may be about a program whose arguments are not known yet.
fn could_begin(glob: &Glob, name: &str) -> bool {
    let source = glob.source();
    let begins = format!("{name} ");
    match source.split_once('*') {
        Some((head, _)) => head.starts_with(&begins) || begins.starts_with(head),
        None => source == name || source.starts_with(&begins),
    }
}

/// The last part of a path.
fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn inner(nature: Nature, arguments: &[String]) -> Inner {
    match nature {
        Nature::Launcher(launcher) => launched(&launcher, arguments),
        Nature::Shell => read_by_shell(arguments),
        Nature::Interpreter(options) => interpreted(options, arguments),
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

/// The program that a launcher runs. An option that the table does not list may hold anything.
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
    if rest.is_empty() { Inner::Nothing } else { Inner::Words(rest, launcher.adds) }
}

/// `-5`, as `nice` takes it.
fn is_number(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// What a shell reads: a line, a file, or whatever it is given.
fn read_by_shell(arguments: &[String]) -> Inner {
    let asks = |word: &String| matches!(word.as_str(), "--version" | "--help");
    match arguments {
        [only] if asks(only) => Inner::Nothing,
        [flags, line, ..] if is_cluster(flags, "ceulx") && flags.contains('c') => {
            match words(line) {
                Some(words) => Inner::Words(words, false),
                None => Inner::Opaque,
            }
        }
        [flags, script, ..] if is_cluster(flags, SHELL_FLAGS) && is_file(script) => Inner::Nothing,
        [script, ..] if is_file(script) => Inner::Nothing,
        _ => Inner::Opaque,
    }
}

fn is_cluster(word: &str, letters: &str) -> bool {
    word.strip_prefix('-').is_some_and(|cluster| {
        !cluster.is_empty() && cluster.chars().all(|letter| letters.contains(letter))
    })
}

/// Whether a word names a file that was there before, and not what the call itself hands over.
fn is_file(word: &str) -> bool {
    let special = ["/dev/", "/proc/"].iter().any(|folder| word.starts_with(folder));
    !word.is_empty() && !word.starts_with(['-', '+']) && !special
}

/// Whether an interpreter is given a program, or only the name of a file.
fn interpreted(options: &[&str], arguments: &[String]) -> Inner {
    match arguments {
        [only] if matches!(only.as_str(), "--version" | "--help" | "-V" | "-v" | "-h") => {
            Inner::Nothing
        }
        // Options may have values of their own, so that a file is only sure where it comes first.
        [script, ..] if is_file(script) && !options.contains(&script.as_str()) => Inner::Nothing,
        [] => Inner::Opaque,
        all => {
            let text = all.iter().any(|argument| argument == "-" || is_option(argument, options));
            let script = all.iter().any(|argument| is_file(argument));
            if text || !script { Inner::Opaque } else { Inner::Nothing }
        }
    }
}

/// Whether a word is one of some options, also joined with others or with its value.
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

/// What git runs: nothing of ours, unless a setting or an option says so.
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

/// What `find` runs for each file. Which files those are, nobody knows yet.
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
                false => Inner::Words(words, true),
            }
        }
        (Some(_), Some(_)) => Inner::Opaque,
    }
}

#[cfg(test)]
mod tests;
