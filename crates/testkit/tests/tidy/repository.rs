//! Repository access: the files of this repository, and tables in its pages.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders and files that are not ours: history, what was built, state of a workspace.
const FOREIGN: [&str; 3] = [".git", "target", ".haft"];

/// A file, with its path from the root written with slashes.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether it is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The cells of the table under a heading, row by row, without its head.
    pub(crate) fn table(&self, heading: &str) -> Vec<Vec<&str>> {
        self.text
            .lines()
            .skip_while(|line| *line != heading)
            .skip(1)
            .take_while(|line| !line.starts_with("## "))
            .filter(|line| line.starts_with('|'))
            .skip(2)
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect()
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// One file.
pub(crate) fn file(path: &str) -> File {
    let text = fs::read_to_string(root().join(path));
    File { path: path.to_owned(), text: text.unwrap_or_else(|fault| panic!("{path}: {fault}")) }
}

/// Every file under a folder, sorted; an empty name stands for the root. Bytes that are no text
/// are replaced.
pub(crate) fn files(under: &str) -> Vec<File> {
    let root = root();
    let mut paths = Vec::new();
    walk(&root.join(under), &mut paths);
    paths.sort();
    paths
        .into_iter()
        .map(|path| File {
            text: String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
            path: path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/"),
        })
        .collect()
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    // A target folder of another name, such as that of `CARGO_TARGET_DIR`.
    if folder.join("CACHEDIR.TAG").exists() {
        return;
    }
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if FOREIGN.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            walk(&entry.path(), paths);
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
}
