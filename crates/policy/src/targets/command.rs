//! Command analysis: every program that a command line starts, under every name that rules compare.

use std::ops::Range;

use haft_model::Glob;
use serde::Serialize;

use super::command_pattern::CommandPattern;
use super::inner::{Inner, inner};
use super::launchers::{Nature, is_inert, is_of_system, nature};
use super::possible::PossibleCommands;
use super::words::words;
use crate::values::straight;

/// Greatest depth of launchers that start launchers; deeper ones are opaque.
const DEEPEST: usize = 16;

/// A command and the commands that it starts, as far as its arguments show them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommandLine {
    /// Programs, the started one first.
    programs: Vec<Program>,
    /// Arguments that may start further programs which no table follows.
    possible: Vec<PossibleCommands>,
    /// The command runs something that its arguments do not show.
    opaque: bool,
}

/// One program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Program {
    /// Name in the command.
    called: String,
    /// Real path with symlinks resolved, if known.
    real: Option<String>,
    /// Arguments after the name.
    arguments: Vec<String>,
    /// The program receives further arguments at run time.
    open: bool,
}

/// Location of a program or script, with symlinks resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramFile {
    /// Real path of the file.
    At(String),
    /// No such file, or a different one for each process.
    Missing,
    /// The file system was not consulted.
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

/// What the tables know about the arguments of a program.
struct Followed {
    /// Commands that it runs, with a flag for further arguments at run time.
    ahead: Vec<(Vec<String>, bool)>,
    /// Range of the arguments that start nothing else.
    within: Range<usize>,
}

impl CommandLine {
    /// Analyses an argv as the system starts it; `file` resolves a program.
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

    /// Looks up what a program does with its arguments. A name alone is no proof: `git` may be a
    /// symlink to a launcher, and then the tables only add restrictions.
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

    /// Analyses a command in one text, which a shell may read; anything but plain words is opaque.
    pub fn text(line: &str, file: &dyn Fn(&str) -> ProgramFile) -> CommandLine {
        match words(line) {
            Some(words) => CommandLine::of(&words, file),
            None => CommandLine { opaque: true, ..CommandLine::default() },
        }
    }

    /// Command of a process that serves many calls. An accepted manifest states every word and
    /// callers add none, so its script texts are accepted too: rules restrict only what it names.
    pub fn of_manifest(argv: &[String], file: &dyn Fn(&str) -> ProgramFile) -> CommandLine {
        CommandLine { opaque: false, ..CommandLine::of(argv, file) }
    }

    /// Returns true if the command runs something that its arguments do not show.
    pub fn is_opaque(&self) -> bool {
        self.opaque
    }

    /// Returns true if a restricting pattern matches.
    pub(crate) fn is_held(&self, pattern: &CommandPattern) -> bool {
        let globs = pattern.restricting();
        let fits = |program: &Program| globs.iter().any(|glob| program.is_held(glob));
        self.opaque
            || self.programs.iter().any(fits)
            || self.possible.iter().any(|possible| possible.is_held(globs))
    }

    /// Returns true if an allowing pattern matches.
    pub(crate) fn is_let_go(&self, pattern: &CommandPattern) -> bool {
        let first = self.programs.first();
        !self.opaque && first.is_some_and(|program| program.is_let_go(pattern.written()))
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

    /// An allow has to match both the called name and the real program: `git` may be a symlink.
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

/// Returns true if a glob may match a program whose arguments are not known yet.
pub(super) fn could_begin(glob: &Glob, name: &str) -> bool {
    let source = glob.source();
    let begins = format!("{name} ");
    match source.split_once('*') {
        Some((head, _)) => head.starts_with(&begins) || begins.starts_with(head),
        None => source == name || source.starts_with(&begins),
    }
}

/// Last part of a path.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns true for a path whose content the kernel makes per process.
pub(super) fn is_of_kernel(path: &str) -> bool {
    let path = straight(path);
    ["/dev/", "/proc/"].iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests;
