//! Commands as rules compare them: every program that the arguments show, by every name that it has.

use std::ops::Range;

use haft_model::Glob;
use serde::Serialize;

use super::inner::{Inner, inner};
use super::launchers::{Nature, is_inert, is_of_system, nature};
use super::possible::PossibleCommands;
use super::words::words;
use crate::values::straight;

/// How deep launchers may start launchers before nobody follows.
const DEEPEST: usize = 16;

/// A command and the commands that it starts, as far as its arguments show them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommandLine {
    /// The programs, the one that is started first.
    programs: Vec<Program>,
    /// What those of them may start that no table follows.
    possible: Vec<PossibleCommands>,
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

/// Where the file of a program or a script is, all links followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramFile {
    /// Here, by its real path.
    At(String),
    /// There is no such file, or it is another one for each process.
    Missing,
    /// The file system was not asked.
    Unknown,
}

impl ProgramFile {
    fn real(self) -> Option<String> {
        match self {
            ProgramFile::At(real) => Some(real),
            ProgramFile::Missing | ProgramFile::Unknown => None,
        }
    }
}

/// What is known of the arguments of a program.
struct Followed {
    /// The commands that it runs, and whether they are given more that only the run will show.
    ahead: Vec<(Vec<String>, bool)>,
    /// The arguments that start nothing else.
    within: Range<usize>,
}

impl CommandLine {
    /// A command by its words, as a system starts it. `file` says where a program really is.
    pub fn of(argv: &[String], file: &dyn Fn(&str) -> ProgramFile) -> CommandLine {
        let mut line = CommandLine::default();
        let mut ahead = vec![(argv.to_vec(), false)];
        while let Some((argv, open)) = ahead.pop() {
            let Some((called, arguments)) = argv.split_first().filter(|(name, _)| !name.is_empty())
            else {
                line.opaque = true;
                continue;
            };
            if line.programs.len() >= DEEPEST || is_of_kernel(called) {
                line.opaque = true;
                break;
            }
            let real = file(called).real();
            let known = line.follow(called, real.as_deref(), arguments, file);
            ahead.extend(known.ahead.into_iter().map(|(words, more)| (words, open || more)));
            let known = known.within;
            match PossibleCommands::of(arguments, &known, file) {
                Some(possible) => line.possible.push(possible),
                None => line.opaque = true,
            }
            let (called, arguments) = (called.clone(), arguments.to_vec());
            line.programs.push(Program { called, real, arguments, open });
        }
        line
    }

    /// What the tables know that a program does with its arguments. A name alone is no proof: what is
    /// called `git` may be a link to a launcher, and then the tables only add to what is judged.
    fn follow(
        &mut self,
        called: &str,
        real: Option<&str>,
        arguments: &[String],
        file: &dyn Fn(&str) -> ProgramFile,
    ) -> Followed {
        let all = 0..arguments.len();
        let within = if is_inert(called, real) { all.clone() } else { 0..0 };
        let mut followed = Followed { ahead: Vec::new(), within };
        let proper = base(real.unwrap_or(called));
        let mut names = vec![base(called)];
        names.extend(Some(proper).filter(|name| *name != base(called)));
        for name in names {
            let Some(nature) = nature(name) else { continue };
            let certain = name == proper && is_of_system(called, real);
            match inner(nature, arguments, file) {
                Inner::Nothing if certain && matches!(nature, Nature::Git) => {
                    followed.within = all.clone();
                }
                Inner::Nothing => {}
                Inner::Words(inner) => {
                    if certain {
                        followed.within = inner.within;
                    }
                    followed.ahead.push((inner.words, inner.open));
                }
                Inner::Opaque => self.opaque = true,
            }
        }
        followed
    }

    /// A command in one text, which a shell may read. What is more than plain words is opaque.
    pub fn text(line: &str, file: &dyn Fn(&str) -> ProgramFile) -> CommandLine {
        match words(line) {
            Some(words) => CommandLine::of(&words, file),
            None => CommandLine { opaque: true, ..CommandLine::default() },
        }
    }

    /// The command of a process that serves many calls. A manifest that was accepted has every word of
    /// it and no caller has any, so that what its texts do was accepted too: only what it names is held.
    pub fn of_manifest(argv: &[String], file: &dyn Fn(&str) -> ProgramFile) -> CommandLine {
        CommandLine { opaque: false, ..CommandLine::of(argv, file) }
    }

    /// Whether it runs something that its arguments do not show.
    pub fn is_opaque(&self) -> bool {
        self.opaque
    }

    /// Whether a pattern that holds back is about it.
    pub(crate) fn is_held(&self, pattern: &str) -> bool {
        let globs = patterns(pattern);
        let fits = |program: &Program| globs.iter().any(|glob| program.is_held(glob));
        self.opaque
            || self.programs.iter().any(fits)
            || self.possible.iter().any(|possible| possible.is_held(&globs))
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
pub(super) fn could_begin(glob: &Glob, name: &str) -> bool {
    let source = glob.source();
    let begins = format!("{name} ");
    match source.split_once('*') {
        Some((head, _)) => head.starts_with(&begins) || begins.starts_with(head),
        None => source == name || source.starts_with(&begins),
    }
}

/// The last part of a path.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a path leads to where the kernel shows each process something else.
pub(super) fn is_of_kernel(path: &str) -> bool {
    let path = straight(path);
    ["/dev/", "/proc/"].iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests;
