//! Differential oracle for rules: a workspace with denied things under several names, and what a driver
//! reaches by a spelling, worked out without the judge.
//!
//! Tests that call drivers and fuzz targets that only resolve stand on the same layout and the same oracle.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::Folder;
use crate::folder::done;

/// The output of a denied program.
pub const REACHED: &str = "REACHED";

/// The content of a denied file.
pub const SECRET: &str = "the-vault-combination";

/// The names of the denied folder.
pub const FOLDERS: [&str; 5] = ["keys", "link", "docs/up", "chain", "docs/sub/../up"];

/// The names of the denied program.
pub const PROGRAMS: [&str; 4] = ["./danger", "./harmless", "./docs/../danger", "././/danger"];

/// Adds the denied folder `keys`, the denied program `danger`, links to both, and what is not denied.
pub fn lay_out(folder: Folder) -> Folder {
    let folder = folder
        .file("keys/a", SECRET)
        .file("keys/deep/b", SECRET)
        .file("docs/open", "open to all")
        .file("docs/sub/c", "open too")
        // What it prints does not stand in it, so that reading it is not running it.
        .file("danger", "#!/bin/sh\nprintf 'REA%s\\n' CHED\n")
        .file("indirect", "#!/bin/sh\nname=dan\n./${name}ger x\n")
        .file("system", "#!/bin/sh\n$(printf i)d && printf 'REA%s\\n' CHED\n")
        .file("fine", "#!/bin/sh\necho fine\n");
    for program in ["danger", "fine", "indirect", "system"] {
        let path = folder.path().join(program);
        done(program, fs::set_permissions(path, fs::Permissions::from_mode(0o755)));
    }
    for (target, link) in [
        ("keys", "link"),
        ("../keys", "docs/up"),
        ("link", "chain"),
        ("keys/a", "direct"),
        ("danger", "harmless"),
        ("/dev/stdin", "given"),
    ] {
        done(link, symlink(target, folder.path().join(link)));
    }
    folder
}

/// The path that a lenient server means by the one it was asked for: escapes and dots worked out.
pub fn requested_path(asked: &str) -> String {
    let mut path = asked.split(['?', '#']).next().unwrap_or_default().to_owned();
    for _ in 0..3 {
        for letter in "abcdefghijklmnopqrstuvwxyz./%".chars() {
            let code = u32::from(letter);
            path = path.replace(&format!("%{code:02x}"), &letter.to_string());
            path = path.replace(&format!("%{code:02X}"), &letter.to_string());
        }
    }
    names(&path, &['/', '\\']).join("/")
}

/// The file that a tool opens which works dots out before it follows links; none where it is not there.
pub fn opened_by_name(root: &Path, path: &str) -> Option<PathBuf> {
    fs::canonicalize(root.join(names(path, &['/']).join("/"))).ok()
}

/// The file that a program opens, as the kernel follows links and dots; none where it is not there.
pub fn opened_by_kernel(root: &Path, path: &str) -> Option<PathBuf> {
    fs::canonicalize(root.join(path)).ok()
}

/// The program that words start behind plain launchers, where that can be said without running them.
pub fn started_program(root: &Path, words: &[String]) -> Option<PathBuf> {
    let plain = |word: &&String| ["env", "nice", "nohup", "command"].contains(&word.as_str());
    let program = words.iter().find(|word| !plain(word))?;
    let is_path = program.starts_with("./") || program.starts_with('/');
    is_path.then(|| opened_by_kernel(root, program)).flatten()
}

fn names<'t>(path: &'t str, separators: &[char]) -> Vec<&'t str> {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split(separators) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names
}
