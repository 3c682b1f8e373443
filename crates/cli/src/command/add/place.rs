//! Import target: the workspace, and its records of earlier imports.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use haft_import::{Base, Disk, Import, MergePlan};
use haft_model::governing::{self, GoverningKind, governing};

/// The folder of a workspace.
pub(super) struct TargetFolder {
    root: PathBuf,
}

impl TargetFolder {
    pub(super) fn new(root: &Path) -> Result<TargetFolder> {
        let found = root.canonicalize();
        let root = found.with_context(|| format!("cannot find `{}`", root.display()))?;
        Ok(TargetFolder { root })
    }

    /// The workspace's root folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The merge base of an import of this name; `None` where there is none.
    pub(super) fn base(&self, import: &str) -> Result<Option<Base>> {
        let file = remembered(import);
        let Some(text) = self.read(&file)? else { return Ok(None) };
        let base = serde_json::from_str(&text);
        Ok(Some(base.with_context(|| {
            format!("`{file}` is damaged: restore it, or delete it and import with `--overwrite`")
        })?))
    }

    /// The files that an import is about, as they are.
    pub(super) fn disk(&self, import: &Import, base: &Base) -> Result<Disk> {
        let made = import.files.iter().map(|file| &file.path);
        let mut disk = Disk::new();
        for path in made.chain(base.files.keys()) {
            if let Some(text) = self.read(path)? {
                disk.insert(path.clone(), text);
            }
        }
        Ok(disk)
    }

    /// Does what there is to do; what is remembered comes last, so that a run which broke off is
    /// taken up by the next.
    pub(super) fn write(&self, import: &str, outcome: &MergePlan) -> Result<()> {
        for file in &outcome.writes {
            self.put(&file.path, &file.text)?;
        }
        for path in &outcome.removals {
            refuse_other_than_manifests(path)?;
            let whole = self.root.join(path);
            fs::remove_file(&whole).with_context(|| format!("cannot remove `{path}`"))?;
            // A folder that holds something else stays.
            whole.parent().map(fs::remove_dir);
        }
        let text = serde_json::to_string_pretty(&outcome.base)?;
        self.put(&remembered(import), &format!("{text}\n"))
    }

    fn read(&self, path: &str) -> Result<Option<String>> {
        match fs::read_to_string(self.root.join(path)) {
            Ok(text) => Ok(Some(text)),
            Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(cause).with_context(|| format!("cannot read `{path}`")),
        }
    }

    fn put(&self, path: &str, text: &str) -> Result<()> {
        refuse_other_than_manifests(path)?;
        let whole = self.root.join(path);
        let folder = whole.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder of `{path}`"))?;
        let real =
            folder.canonicalize().with_context(|| format!("cannot find the folder of `{path}`"))?;
        if !real.starts_with(&self.root) || whole.is_symlink() {
            bail!(
                "`{path}` is a link or lies behind one that leaves the workspace; nothing is written there"
            );
        }
        fs::write(&whole, text).with_context(|| format!("cannot write `{path}`"))
    }
}

/// The path of an import's merge base; it goes into the repository with the rest.
pub(super) fn remembered(import: &str) -> String {
    format!(".imports/{import}/base.json")
}

/// An import makes manifests, and what Haft remembers of it. Whatever names its source gives, they
/// lead to nothing else: neither to settings nor to what other programs execute.
fn refuse_other_than_manifests(path: &str) -> Result<()> {
    let names: Vec<&str> = path.split('/').collect();
    let plain = !names.iter().any(|name| matches!(*name, "" | "." | ".."));
    let row = governing(governing::Base::Workspace, &names).filter(|_| plain);
    match row.map(|row| row.kind) {
        Some(GoverningKind::Manifest | GoverningKind::State) => Ok(()),
        Some(_) | None => bail!("`{path}` is no manifest, and an import writes nothing else"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_write_manifests_and_nothing_else() {
        let cases = [
            (".tools/a.b/TOOL.md", true),
            (".drivers/d/DRIVER.md", true),
            (".imports/d/base.json", true),
            ("haft.toml", false),
            (".tools/../haft.toml", false),
            (".tools/../../x/.tools/TOOL.md", false),
            (".git/hooks/pre-commit", false),
            (".envrc", false),
            ("src/main.rs", false),
            ("/etc/passwd", false),
        ];
        for (path, allowed) in cases {
            assert_eq!(refuse_other_than_manifests(path).is_ok(), allowed, "{path}");
        }
    }
}
