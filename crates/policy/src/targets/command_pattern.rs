//! Command pattern of a rule: compiled once, in the forms that allows, restrictions and sandboxes
//! compare.

use haft_model::Glob;

use super::command::base;

/// Pattern on commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    written: Glob,
    restricting: Vec<Glob>,
    program: Option<Glob>,
}

impl CommandPattern {
    pub(crate) fn new(source: &str) -> CommandPattern {
        CommandPattern {
            written: Glob::new(source),
            restricting: restricting(source),
            program: whole_program(source),
        }
    }

    /// Pattern as written, which is all that an allow matches.
    pub(crate) fn written(&self) -> &Glob {
        &self.written
    }

    /// Globs that a deny or an ask matches.
    pub(crate) fn restricting(&self) -> &[Glob] {
        &self.restricting
    }

    /// Program that the pattern restricts with any arguments.
    pub(crate) fn program(&self) -> Option<&Glob> {
        self.program.as_ref()
    }
}

/// Globs of a restricting pattern: a program given by path also matches by name, since a path has
/// many spellings.
fn restricting(pattern: &str) -> Vec<Glob> {
    let plain = pattern.trim();
    let (program, rest) = plain.split_at(plain.find(' ').unwrap_or(plain.len()));
    let named = format!("{}{rest}", base(program));
    let mut sources = vec![pattern.to_owned(), plain.to_owned()];
    if !base(program).is_empty() && base(program) != "*" {
        sources.push(named);
    }
    // A pattern with any arguments also matches none.
    let bare = sources.iter().filter_map(|source| source.strip_suffix(" *").map(str::to_owned));
    let bare: Vec<String> = bare.collect();
    sources.extend(bare);
    sources.dedup();
    sources.iter().map(|source| Glob::new(source)).collect()
}

/// Program of a pattern that matches any arguments: `rm *`, but not `git push *`.
fn whole_program(pattern: &str) -> Option<Glob> {
    let plain = pattern.trim();
    let program = plain.strip_suffix('*')?;
    let name = program.trim_end();
    let whole = !name.trim_matches('*').is_empty() && !name.contains(char::is_whitespace);
    // `rm*` matches `rmdir` as well.
    let source = if name.len() < program.len() { name } else { plain };
    whole.then(|| Glob::new(source.strip_prefix("./").unwrap_or(source)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_with_any_arguments_closes_its_program() {
        for (pattern, expected) in [
            ("rm *", Some("rm")),
            ("/usr/bin/rm *", Some("/usr/bin/rm")),
            ("./tools/rm *", Some("tools/rm")),
            ("rm*", Some("rm*")),
            ("rm", None),
            ("rm x", None),
            ("git push *", None),
            ("*", None),
            ("* *", None),
        ] {
            let closed = whole_program(pattern);
            assert_eq!(closed.as_ref().map(Glob::source), expected, "{pattern}");
        }
    }
}
