//! Where the links of a workspace's rules lead: what the loader reads through them governs as well.

use std::fs;
use std::path::{Path, PathBuf};

use haft_model::governing::{LOCK_FILE, MANIFEST_FILES, MANIFEST_FOLDERS, SETTINGS_FILE};

use super::Protection;

/// How deep the loader goes.
const DEEPEST: usize = 16;

/// How many files and folders of rules are looked at.
const MOST: usize = 50_000;

impl Protection {
    /// The files and folders that the loader comes to by a link and that lie in the workspace. An
    /// error where there are too many rules to look through.
    pub fn linked(&self) -> Result<Vec<PathBuf>, String> {
        let mut search = Search { root: &self.workspace, found: Vec::new(), left: MOST };
        let files = [SETTINGS_FILE, LOCK_FILE];
        for name in files.iter().chain(&MANIFEST_FILES).chain(&MANIFEST_FOLDERS) {
            search.look(&self.workspace.join(name), 0)?;
        }
        Ok(search.found)
    }
}

struct Search<'a> {
    root: &'a Path,
    found: Vec<PathBuf>,
    left: usize,
}

impl Search<'_> {
    fn look(&mut self, path: &Path, depth: usize) -> Result<(), String> {
        let Ok(about) = fs::symlink_metadata(path) else { return Ok(()) };
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            format!("more than {MOST} files and folders hold the rules of this workspace")
        })?;
        if about.is_symlink() {
            return self.follow(path, depth);
        }
        if !about.is_dir() || depth > DEEPEST {
            return Ok(());
        }
        let listed =
            fs::read_dir(path).map_err(|fault| format!("`{}`: {fault}", path.display()))?;
        listed.flatten().try_for_each(|entry| {
            let plain = entry.file_type().is_ok_and(|kind| kind.is_file());
            if plain { Ok(()) } else { self.look(&entry.path(), depth + 1) }
        })
    }

    fn follow(&mut self, link: &Path, depth: usize) -> Result<(), String> {
        let Ok(real) = fs::canonicalize(link) else { return Ok(()) };
        if !real.starts_with(self.root) || self.found.contains(&real) {
            return Ok(());
        }
        self.found.push(real.clone());
        self.look(&real, depth + 1)
    }
}
