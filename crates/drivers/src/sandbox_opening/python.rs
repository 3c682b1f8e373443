//! Python installations: the folders that a Python needs to see in the sandbox to run at all.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Folders that every confined program sees.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/gnu/store"];

/// Most symlinks between a name and its program.
const MOST_LINKS: usize = 16;

/// Most bytes of a script's first line; kernels read less.
const LONGEST_LINE: u64 = 4096;

/// The folders of a Python outside the system: its virtual environment, and the Python behind that.
pub(crate) fn installations(program: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let steps = way(program);
    let own = |path: &PathBuf| Some(path.as_path()) != home;
    let mut found: Vec<PathBuf> =
        steps.iter().filter_map(|step| prefix(step)).filter(own).collect();
    found.dedup();
    found
}

/// The folders that a script's interpreter needs, by its `#!` line; none for other files.
pub(super) fn behind(script: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let named = first_line(script).and_then(|line| {
        let named = line.strip_prefix("#!")?.trim().split(' ').next()?;
        Some(PathBuf::from(named)).filter(|path| path.is_absolute())
    });
    named.map(|program| installations(&program, home)).unwrap_or_default()
}

fn first_line(path: &Path) -> Option<String> {
    if !path.is_absolute() || !path.is_file() {
        return None;
    }
    let mut line = String::new();
    BufReader::new(File::open(path).ok()?.take(LONGEST_LINE)).read_line(&mut line).ok()?;
    Some(line)
}

/// Every symlink on the way from a name to its program.
fn way(program: &Path) -> Vec<PathBuf> {
    let mut steps = vec![program.to_owned()];
    while let Some(last) = steps.last().filter(|_| steps.len() < MOST_LINKS) {
        let Ok(target) = fs::read_link(last) else { break };
        let next = last.parent().map_or_else(|| target.clone(), |folder| folder.join(&target));
        steps.push(next);
    }
    steps.extend(fs::canonicalize(program));
    steps
}

/// The prefix of a Python installation: the folder above `bin` that has its libraries.
fn prefix(program: &Path) -> Option<PathBuf> {
    let prefix = program.parent().filter(|folder| folder.ends_with("bin"))?.parent()?;
    let is_system = SYSTEM.iter().any(|system| prefix.starts_with(system));
    let mut libraries = fs::read_dir(prefix.join("lib")).ok()?.flatten();
    let is_python =
        libraries.any(|entry| entry.file_name().to_string_lossy().starts_with("python3"));
    (is_python && !is_system && prefix.parent().is_some()).then(|| prefix.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use haft_testkit::Folder;

    use super::*;

    /// The folders that a script with this first line needs, beside a virtual environment.
    fn needed(line: &str, home: &str) -> Vec<String> {
        let folder = Folder::new()
            .file("python/bin/python3.11", "\u{7f}ELF")
            .file("python/lib/python3.11/os.py", "")
            .file("venv/lib/python3.11/site.py", "")
            .file("venv/bin/tool", "");
        let base = fs::canonicalize(folder.path()).unwrap();
        symlink(base.join("python/bin/python3.11"), base.join("venv/bin/python")).unwrap();
        let script = base.join("venv/bin/tool");
        fs::write(&script, line.replace("BASE", &base.display().to_string())).unwrap();
        let found = behind(&script, Some(&base.join(home)));
        let short = |path: &PathBuf| path.strip_prefix(&base).unwrap().display().to_string();
        found.iter().map(short).collect()
    }

    #[test]
    fn python_script_opens_venv_of_shebang_and_its_base() {
        let script = "#!BASE/venv/bin/python -I\nimport tool\n";
        assert_eq!(needed(script, "home"), ["venv", "python"]);
        // A home folder is never opened, whatever it looks like.
        assert_eq!(needed(script, "python"), ["venv"]);
        for other in ["#!/bin/sh\n", "#!/usr/bin/env python3\n", "#!python\n", "\u{7f}ELF", ""] {
            assert_eq!(needed(other, "home"), Vec::<String>::new(), "{other}");
        }
    }
}
