//! File discovery: finds and reads the manifests of a workspace, and nothing outside it.

use std::collections::HashMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::source::LARGEST;
use haft_contract::{ManifestKind, Reading, Report, Source, read, rules};
use haft_sandbox::Suspects;
use rayon::prelude::*;

/// The folders of manifests. What is read is what governs: both are one list.
pub(crate) use haft_model::governing::{MANIFEST_FILES as ROOT_FILES, MANIFEST_FOLDERS as FOLDERS};

/// The message about a link that is not followed.
pub(crate) const LEAVES: &str = "this link leaves the workspace";

/// How deep categories may nest; a loop of links stops here.
const DEEPEST: usize = 16;

/// Cache entry: a parsed manifest with the stamp of its file.
#[derive(Clone, Debug)]
pub(crate) struct CachedManifest {
    pub(crate) reading: Arc<Reading>,
    stamp: Stamp,
}

/// File metadata that changes with the file; when it is unchanged, so is the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    /// Inode and time of the last change on Unix: an edit within one tick of the clock usually
    /// leaves another of these.
    identity: (u64, i64),
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Stamp {
        Stamp {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            identity: identity(metadata),
        }
    }
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> (u64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.ino(), metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> (u64, i64) {
    (0, 0)
}

/// A file or an obstacle that the walk found.
enum FoundFile {
    Manifest(String, PathBuf, Stamp),
    /// A path that must not or cannot be read, and why.
    Refused(String, &'static haft_contract::Rule, String),
}

/// Reads every manifest, taking over those whose files have not changed.
///
/// Files that a confined run in flight may have made are not read: they stay as they were.
pub(crate) fn read_all(
    root: &Path,
    known: &HashMap<String, CachedManifest>,
    suspects: &Suspects,
) -> HashMap<String, CachedManifest> {
    let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let mut found: Vec<FoundFile> = FOLDERS
        .par_iter()
        .filter(|folder| !suspects.contains(folder))
        .flat_map(|folder| {
            let (path, name) = (root.join(folder), (*folder).to_owned());
            if path.is_symlink() {
                linked(&real_root, path, name, 0)
            } else {
                walk(&real_root, &path, name, 0)
            }
        })
        .collect();
    for name in ROOT_FILES.into_iter().filter(|name| !suspects.contains(name)) {
        let path = root.join(name);
        if path.is_symlink() {
            found.extend(linked(&real_root, path, name.to_owned(), 0));
        } else if path.is_file() {
            found.extend(look(path, name.to_owned()));
        }
    }
    let held = known.iter().filter(|(file, _)| suspects.contains(first_name(file)));
    let held: Vec<_> = held.map(|(file, known)| (file.clone(), known.clone())).collect();
    found
        .into_par_iter()
        .map(|found| match found {
            FoundFile::Refused(file, rule, message) => {
                (file.clone(), refused(&file, rule, message))
            }
            FoundFile::Manifest(file, path, stamp) => {
                let same = known.get(&file).filter(|known| known.stamp == stamp).cloned();
                let manifest = same.unwrap_or_else(|| read_one(&file, &path, stamp));
                (file, manifest)
            }
        })
        .chain(held)
        .collect()
}

/// The first name of a file, written from the workspace's root.
pub(crate) fn first_name(file: &str) -> &str {
    file.split('/').next().unwrap_or(file)
}

/// The stamp of a file; `None` when it does not exist.
pub(crate) fn stamp(path: &Path) -> Option<Stamp> {
    fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata))
}

/// Whether a path is a link to somewhere outside the workspace.
pub(crate) fn is_link_outside(root: &Path, path: &Path) -> bool {
    let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    path.is_symlink() && path.canonicalize().is_ok_and(|real| !real.starts_with(real_root))
}

/// Reads one file again; none when it is gone or is no manifest. A link on the way is followed as far
/// as it stays inside the workspace.
pub(crate) fn read_file(root: &Path, file: &str) -> Option<CachedManifest> {
    let path = root.join(file);
    let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    match path.canonicalize() {
        Ok(real) if !real.starts_with(real_root) => {
            Some(refused(file, &rules::Y010, LEAVES.to_owned()))
        }
        Ok(_) => match look(path, file.to_owned())? {
            FoundFile::Manifest(file, path, stamp) => Some(read_one(&file, &path, stamp)),
            FoundFile::Refused(file, rule, message) => Some(refused(&file, rule, message)),
        },
        Err(_) => None,
    }
}

/// Everything below a folder, its links followed as far as they stay inside the workspace.
fn walk(root: &Path, folder: &Path, name: String, depth: usize) -> Vec<FoundFile> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(cause) => return vec![FoundFile::Refused(name, &rules::Y011, cause.to_string())],
    };
    if depth > DEEPEST {
        let message = format!("folders nest more than {DEEPEST} deep");
        return vec![FoundFile::Refused(name, &rules::Y011, message)];
    }
    let entries: Vec<fs::DirEntry> = listed.flatten().collect();
    entries
        .into_par_iter()
        .flat_map_iter(|entry| {
            let file = format!("{name}/{}", entry.file_name().to_string_lossy());
            let path = entry.path();
            let kind = entry.file_type();
            if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
                return walk(root, &path, file, depth + 1);
            }
            if kind.is_ok_and(|kind| kind.is_symlink()) {
                return linked(root, path, file, depth);
            }
            look(path, file).into_iter().collect()
        })
        .collect()
}

fn linked(root: &Path, path: PathBuf, file: String, depth: usize) -> Vec<FoundFile> {
    match path.canonicalize() {
        Ok(real) if !real.starts_with(root) => {
            vec![FoundFile::Refused(file, &rules::Y010, LEAVES.to_owned())]
        }
        Ok(real) if real.is_dir() => walk(root, &real, file, depth + 1),
        Ok(_) => look(path, file).into_iter().collect(),
        Err(cause) => {
            let message = format!("this link cannot be followed: {}", cause.kind());
            vec![FoundFile::Refused(file, &rules::Y011, message)]
        }
    }
}

/// A manifest with its stamp; nothing for a file that is none. No part of the path is a link that
/// was not looked at, so the file lies inside the workspace.
fn look(path: PathBuf, file: String) -> Option<FoundFile> {
    ManifestKind::of(&file)?;
    Some(match fs::metadata(&path) {
        // A pipe would keep its reader waiting for ever.
        Ok(metadata) if !metadata.is_file() => {
            FoundFile::Refused(file, &rules::Y011, "this is not a regular file".to_owned())
        }
        Ok(metadata) => FoundFile::Manifest(file, path, Stamp::of(&metadata)),
        Err(cause) => FoundFile::Refused(file, &rules::Y011, cause.to_string()),
    })
}

fn read_one(file: &str, path: &Path, stamp: Stamp) -> CachedManifest {
    let (source, report) = if stamp.size > LARGEST {
        Source::too_large(file, stamp.size, LARGEST)
    } else {
        match read_at_most(path, LARGEST) {
            Ok(bytes) => Source::from_bytes(file, bytes, LARGEST),
            Err(cause) => return refused(file, &rules::Y011, cause.to_string()),
        }
    };
    CachedManifest { reading: Arc::new(read(&source, report)), stamp }
}

/// The bytes of a file, and no more than one beyond a limit, however long it grows meanwhile.
pub(crate) fn read_at_most(path: &Path, largest: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(largest + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn refused(file: &str, rule: &haft_contract::Rule, message: String) -> CachedManifest {
    let source = Source::new(file, "");
    let mut report = Report::new(&source);
    report.add(rule, 0..0, message);
    let reading = read(&source, report);
    CachedManifest {
        reading: Arc::new(reading),
        stamp: Stamp { size: 0, modified: None, identity: (0, 0) },
    }
}

#[cfg(test)]
mod tests {
    use haft_model::governing::{Base, GoverningKind, governing};
    use haft_testkit::{Folder, SeededRandom};

    use super::*;
    use crate::workspace::SIDE_FILES;

    /// Every name that could be a manifest, wherever it lies, in folders that the loader may know.
    #[test]
    fn every_path_that_the_loader_reads_governs() {
        let names = [
            "TOOL.md",
            "DRIVER.md",
            "CLI.md",
            "ACTION.md",
            "TOOL.json",
            "a.tool.json",
            "POLICY.md",
            "GOVERNANCE.md",
            "SECRETS.md",
            "AUTH.md",
            "auth.md",
            "RUNNER.md",
            "SANDBOX.md",
            "x.md",
        ];
        let others = ["", "docs", "src/.tools", ".github", ".haft", "config", ".hooks", ".git"];
        let mut random = SeededRandom::new(3);
        let mut folder = Folder::new();
        for _ in 0..400 {
            let tops: Vec<&str> = FOLDERS.into_iter().chain(others).collect();
            let top = tops.get(random.below(tops.len())).unwrap();
            let between = "d/".repeat(random.below(4));
            let name = names.get(random.below(names.len())).unwrap();
            let path = format!("{top}/{between}{name}");
            folder = folder.file(path.trim_start_matches('/'), "");
        }
        let read = read_all(folder.path(), &HashMap::new(), &Suspects::default());
        assert!(read.len() > 50, "{}", read.len());
        for file in read.keys().map(String::as_str).chain(SIDE_FILES) {
            let names: Vec<&str> = file.split('/').collect();
            let kind = governing(Base::Workspace, &names).map(|row| row.kind);
            let expected = match file {
                "haft.toml" => GoverningKind::Settings,
                "haft.lock" => GoverningKind::Lock,
                _ => GoverningKind::Manifest,
            };
            assert_eq!(kind, Some(expected), "{file}");
        }
    }
}
