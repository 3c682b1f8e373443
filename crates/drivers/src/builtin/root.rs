//! Workspace root: opens every file beneath one directory descriptor.
//!
//! The walk goes one name at a time, or through `openat2` with `RESOLVE_BENEATH`. A symlink that
//! another process puts in place meanwhile leads nowhere.

use std::fs::File;
use std::path::PathBuf;

use haft_model::governing::STATE_FOLDER as HOUSE;
use haft_sandbox::Protection;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::place::{WorkspacePath, is_house};
use super::refusal::PathRefusal;

/// Most symlinks that a path may pass through.
const MOST_LINKS: usize = 40;

/// Flags for a folder that is only walked through. `O_PATH` needs no read permission.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Flags for a file that is read. A pipe or a device must not block, nor become our terminal.
const READ: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The folder of a workspace.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(super) path: PathBuf,
    /// Reads the environment of the user who owns these files.
    pub(super) variable: fn(&str) -> Option<String>,
    /// Files that hooks and drivers execute, relative to the root.
    programs: Vec<PathBuf>,
    /// Haft's own paths in the workspace, such as a store outside of its usual folder.
    own: Vec<PathBuf>,
}

/// Haft's state folder, known by its inode: a symlink or a file system may give it other names.
#[derive(Clone, Debug)]
pub(super) struct House(Option<Stat>);

/// Where a path leads after every symlink is resolved.
#[derive(Debug)]
pub(super) enum Spot {
    /// A folder.
    Folder(OpenFolder),
    /// An entry that is neither a folder nor a symlink.
    Entry(DirectoryEntry),
    /// An entry that does not exist, with the parent folders that do not exist either.
    Missing(DirectoryEntry, Vec<String>),
}

/// A folder that is held open.
#[derive(Debug)]
pub(super) struct OpenFolder {
    /// Descriptor of the folder.
    pub(super) folder: OwnedFd,
    /// The path components from the root.
    pub(super) trail: Vec<String>,
}

/// An entry of a folder that is held open.
#[derive(Debug)]
pub(super) struct DirectoryEntry {
    /// Descriptor of the parent folder.
    pub(super) folder: OwnedFd,
    /// The name in that folder.
    pub(super) name: String,
    /// The path components from the root, including its own.
    pub(super) trail: Vec<String>,
}

/// The type of one path component.
enum Step {
    Folder(OwnedFd),
    Link(String),
    File,
    Nothing,
}

impl Root {
    pub(crate) fn new(path: PathBuf) -> Root {
        Root { path, variable: |_| None, programs: Vec::new(), own: Vec::new() }
    }

    /// Protects files that are executed and files of Haft's own.
    pub(crate) fn protecting(self, programs: Vec<PathBuf>, own: Vec<PathBuf>) -> Root {
        Root { programs, own, ..self }
    }

    /// Adds the user's home, whose start-up files and keys govern too.
    pub(crate) fn at_home(self, variable: fn(&str) -> Option<String>) -> Root {
        Root { variable, ..self }
    }

    /// Whether a path belongs to Haft's state, by its text alone.
    pub(super) fn is_state(&self, place: &WorkspacePath) -> bool {
        let path = place.names.iter().fold(self.path.clone(), |path, name| path.join(name));
        self.own.iter().any(|state| path.starts_with(self.path.join(state)))
    }

    /// Refuses a path that governs: by its resolved path, by a symlink of the rules that leads
    /// there, or by a hard link that may be a rule.
    pub(super) fn refuse_governing(&self, entry: &DirectoryEntry) -> Result<(), PathRefusal> {
        let base = std::fs::canonicalize(&self.path)?;
        let programs = self.programs.iter().map(|path| base.join(path)).collect();
        let protection = Protection::of(&base, self.variable).with_programs(programs);
        let own: Vec<PathBuf> = self.own.iter().map(|path| base.join(path)).collect();
        let path = entry.trail.iter().fold(base, |path, name| path.join(name));
        let linked = protection.linked().map_err(|_| PathRefusal::Rules)?;
        let governs = protection.governing_above(&path).is_some()
            || linked.iter().any(|linked| path.starts_with(&linked.path))
            || own.iter().any(|own| path.starts_with(own));
        if governs { Err(PathRefusal::Rules) } else { Ok(()) }
    }

    /// Opens a file for reading, and returns its size in bytes.
    pub(crate) fn open_file(&self, place: &WorkspacePath) -> Result<(File, u64), PathRefusal> {
        let base = self.open()?;
        if let Some(opened) = beneath(&base, place) {
            return regular(opened?);
        }
        match walk(base, place)? {
            Spot::Folder(_) => Err(PathRefusal::IsFolder),
            Spot::Missing(..) => Err(Errno::NOENT.into()),
            Spot::Entry(entry) => open_entry(&entry.folder, &entry.name),
        }
    }

    /// Resolves a path.
    pub(super) fn find(&self, place: &WorkspacePath) -> Result<Spot, PathRefusal> {
        walk(self.open()?, place)
    }

    /// Haft's state folder, if it exists.
    pub(super) fn house(&self) -> Result<House, PathRefusal> {
        Ok(House::of(&self.open()?))
    }

    fn open(&self) -> Result<OwnedFd, PathRefusal> {
        Ok(rustix::fs::open(&self.path, FOLDER, Mode::empty())?)
    }
}

impl Spot {
    /// The path components from the root.
    pub(super) fn trail(&self) -> &[String] {
        match self {
            Spot::Folder(folder) => &folder.trail,
            Spot::Entry(entry) | Spot::Missing(entry, _) => &entry.trail,
        }
    }
}

impl House {
    fn of(base: &OwnedFd) -> House {
        House(rustix::fs::statat(base, HOUSE, AtFlags::empty()).ok())
    }

    /// Opens a subfolder, unless it is a symlink or Haft's state folder.
    pub(super) fn enter(&self, folder: impl AsFd, name: &str) -> Result<OwnedFd, PathRefusal> {
        let entered = open_folder(folder, name)?;
        self.refuse(&entered)?;
        Ok(entered)
    }

    fn refuse(&self, folder: &OwnedFd) -> Result<(), PathRefusal> {
        let Some(house) = &self.0 else { return Ok(()) };
        let stat = rustix::fs::fstat(folder)?;
        if (stat.st_dev, stat.st_ino) == (house.st_dev, house.st_ino) {
            return Err(PathRefusal::House);
        }
        Ok(())
    }
}

/// Opens a file of a folder for reading, unless it is a symlink.
pub(super) fn open_entry(folder: impl AsFd, name: &str) -> Result<(File, u64), PathRefusal> {
    regular(rustix::fs::openat(folder, name, READ | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Opens a subfolder, unless it is a symlink.
fn open_folder(folder: impl AsFd, name: &str) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())
}

fn regular(opened: OwnedFd) -> Result<(File, u64), PathRefusal> {
    let stat = rustix::fs::fstat(&opened)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            Ok((File::from(opened), u64::try_from(stat.st_size).unwrap_or_default()))
        }
        FileType::Directory => Err(PathRefusal::IsFolder),
        _ => Err(PathRefusal::IsOther),
    }
}

/// Opens a file with one `openat2`, which allows no symlink: then its components are its real path,
/// and nothing else needs comparing. `None` if that cannot be decided.
#[cfg(target_os = "linux")]
fn beneath(base: &OwnedFd, place: &WorkspacePath) -> Option<Result<OwnedFd, PathRefusal>> {
    use rustix::fs::ResolveFlags;

    // Some file systems fold non-ASCII names, so those are walked.
    let told = place.names.iter().all(|name| name.is_ascii() && !is_house(name));
    if place.names.is_empty() || !told || house_is_link(base) {
        return None;
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(base, place.names.join("/"), READ, Mode::empty(), resolve) {
        Ok(opened) => Some(Ok(opened)),
        Err(errno @ (Errno::NOENT | Errno::ACCESS | Errno::NOTDIR)) => Some(Err(errno.into())),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn beneath(_: &OwnedFd, _: &WorkspacePath) -> Option<Result<OwnedFd, PathRefusal>> {
    None
}

#[cfg(target_os = "linux")]
fn house_is_link(base: &OwnedFd) -> bool {
    rustix::fs::statat(base, HOUSE, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Walks component by component and holds every folder open, so that `..` in a symlink goes back to
/// the folder it came from and never above the root, whatever moves meanwhile.
fn walk(base: OwnedFd, place: &WorkspacePath) -> Result<Spot, PathRefusal> {
    let house = House::of(&base);
    let mut ahead: Vec<String> = place.names.iter().rev().cloned().collect();
    let mut trail: Vec<(String, OwnedFd)> = Vec::new();
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            trail.pop().ok_or(PathRefusal::Outside)?;
            continue;
        }
        if is_house(&name) {
            return Err(PathRefusal::House);
        }
        let here = trail.last().map_or(&base, |(_, folder)| folder);
        match step(here, &name)? {
            Step::Folder(folder) => {
                house.refuse(&folder)?;
                trail.push((name, folder));
            }
            Step::Link(target) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP.into());
                }
                follow(&target, &mut ahead)?;
            }
            Step::File if ahead.is_empty() => return Ok(Spot::Entry(entry(base, trail, name))),
            Step::File => return Err(PathRefusal::IsFile),
            Step::Nothing => return missing(entry(base, trail, name), ahead),
        }
    }
    let names = trail.iter().map(|(name, _)| name.clone()).collect();
    let folder = trail.pop().map_or(base, |(_, folder)| folder);
    Ok(Spot::Folder(OpenFolder { folder, trail: names }))
}

fn step(here: &OwnedFd, name: &str) -> Result<Step, PathRefusal> {
    match open_folder(here, name) {
        Ok(folder) => return Ok(Step::Folder(folder)),
        Err(Errno::NOTDIR | Errno::LOOP) => {}
        Err(Errno::NOENT) => return Ok(Step::Nothing),
        Err(errno) => return Err(errno.into()),
    }
    match rustix::fs::readlinkat(here, name, Vec::new()) {
        Ok(target) => target.into_string().map(Step::Link).map_err(|_| Errno::ILSEQ.into()),
        Err(Errno::INVAL) => Ok(Step::File),
        Err(Errno::NOENT) => Ok(Step::Nothing),
        Err(errno) => Err(errno.into()),
    }
}

/// Puts the components of a symlink's target before those still ahead.
fn follow(target: &str, ahead: &mut Vec<String>) -> Result<(), PathRefusal> {
    if target.starts_with('/') {
        return Err(PathRefusal::Outside);
    }
    let names = target.split('/').filter(|name| !matches!(*name, "" | "."));
    ahead.extend(names.rev().map(str::to_owned));
    Ok(())
}

fn entry(base: OwnedFd, mut trail: Vec<(String, OwnedFd)>, name: String) -> DirectoryEntry {
    let mut names: Vec<String> = trail.iter().map(|(name, _)| name.clone()).collect();
    names.push(name.clone());
    DirectoryEntry { folder: trail.pop().map_or(base, |(_, folder)| folder), name, trail: names }
}

/// A path that does not exist, below folders that may not exist either.
fn missing(at: DirectoryEntry, mut ahead: Vec<String>) -> Result<Spot, PathRefusal> {
    ahead.reverse();
    if ahead.iter().any(|name| name == "..") {
        return Err(Errno::NOENT.into());
    }
    if ahead.iter().any(|name| is_house(name)) {
        return Err(PathRefusal::House);
    }
    let Some(last) = ahead.pop() else { return Ok(Spot::Missing(at, Vec::new())) };
    let mut trail = at.trail;
    trail.extend(ahead.iter().cloned());
    trail.push(last.clone());
    let between = std::iter::once(at.name).chain(ahead).collect();
    Ok(Spot::Missing(DirectoryEntry { folder: at.folder, name: last, trail }, between))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use haft_testkit::Folder;

    use super::*;

    /// Simulates the race: the entry was no symlink when it was checked.
    #[test]
    fn entry_that_became_symlink_after_check_is_not_opened() {
        let folder = Folder::new().file("out/secret", "x").file("w/in", "x");
        symlink("../out/secret", folder.path().join("w/file")).unwrap();
        symlink("../out", folder.path().join("w/folder")).unwrap();
        let root = Root::new(folder.path().join("w"));
        let base = root.open().unwrap();
        assert_eq!(open_entry(&base, "file").unwrap_err(), PathRefusal::System(Errno::LOOP));
        assert_eq!(House::of(&base).enter(&base, "folder").unwrap_err(), PathRefusal::IsFile);
        assert_eq!(open_entry(&base, "in").unwrap().1, 1);
    }

    /// Kernels and sandboxes without `openat2` take the walk, which must give the same result.
    #[test]
    fn path_walk_gives_same_result_as_openat2() {
        let folder = Folder::new().file("a/b", "x");
        let root = Root::new(folder.path().to_owned());
        for path in ["a/b", "a", "a/c", "c/d", "a/b/c"] {
            let place = WorkspacePath::of(&serde_json::json!({"path": path})).unwrap();
            let base = root.open().unwrap();
            let walked = match walk(root.open().unwrap(), &place) {
                Ok(Spot::Entry(entry)) => open_entry(&entry.folder, &entry.name),
                Ok(Spot::Folder(_)) => Err(PathRefusal::IsFolder),
                Ok(Spot::Missing(..)) => Err(Errno::NOENT.into()),
                Err(refusal) => Err(refusal),
            };
            let at_once = beneath(&base, &place).map(|opened| opened.and_then(regular));
            let size = |opened: Result<(File, u64), PathRefusal>| opened.map(|(_, size)| size);
            let walked = size(walked);
            assert_eq!(at_once.map_or_else(|| walked, size), walked, "{path}");
        }
    }
}
