//! Temporary folder of one test, removed when the test ends.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use crate::filter;

/// An empty folder to fill, such as a workspace.
///
/// A folder that cannot be laid out or read ends the test, so nothing here returns an error.
#[derive(Debug)]
pub struct Folder {
    root: TempDir,
}

impl Default for Folder {
    fn default() -> Folder {
        Folder::new()
    }
}

impl Folder {
    /// A new folder with nothing in it.
    pub fn new() -> Folder {
        Folder { root: done("make a folder", TempDir::new()) }
    }

    /// The same folder with a file in it; the folders on the way are made.
    pub fn file(self, path: &str, text: impl AsRef<[u8]>) -> Folder {
        let target = self.root.path().join(path);
        if let Some(parent) = target.parent() {
            done(path, fs::create_dir_all(parent));
        }
        done(path, fs::write(target, text));
        self
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// The current text of one of its files.
    pub fn read(&self, path: &str) -> String {
        done(path, fs::read_to_string(self.root.path().join(path)))
    }

    /// A text without what differs between runs: this folder's path becomes `[folder]`, digests
    /// become `[digest]` and times such as `1.5 ms` become `[time]`.
    pub fn filtered(&self, text: &str) -> String {
        // A link on the way, as to the folder of temporary files on some systems, gives it two names.
        let resolved = self.root.path().canonicalize().unwrap_or_default();
        let text = [resolved.as_path(), self.root.path()]
            .iter()
            .map(|path| path.to_string_lossy())
            .filter(|path| !path.is_empty())
            .fold(text.to_owned(), |text, path| text.replace(path.as_ref(), "[folder]"));
        filter::times(&filter::digests(&text))
    }
}

#[expect(clippy::panic, reason = "a test whose folder cannot be laid out or read has failed")]
pub(crate) fn done<T>(what: &str, result: io::Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(fault) => panic!("cannot use the test's folder for `{what}`: {fault}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temp_folder_creates_files_with_parent_folders() {
        let folder = Folder::new().file(".tools/a.b/TOOL.md", "text").file("haft.toml", "");
        assert_eq!(folder.read(".tools/a.b/TOOL.md"), "text");
        assert!(folder.path().join("haft.toml").is_file());
    }

    #[test]
    fn what_differs_between_runs_is_taken_out() {
        let folder = Folder::new();
        let text = format!(
            "{}/haft.toml read in 12.5 ms, sha256:{}\n",
            folder.path().display(),
            "0f".repeat(32)
        );
        assert_eq!(folder.filtered(&text), "[folder]/haft.toml read in [time], [digest]\n");
    }
}
