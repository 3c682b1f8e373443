//! Directory listing: the sorted entries of an open folder, without Haft's own state folder.

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::place::is_house;

/// Most directory entries that are read from one folder.
const MOST_NAMES: usize = 100_000;

/// One directory entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DirectoryItem {
    pub(super) name: String,
    pub(super) kind: FileKind,
}

/// The file type of a directory entry; symlinks are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    File,
    Folder,
    Link,
    Other,
}

/// The entries of a folder.
#[derive(Debug, Default)]
pub(super) struct Items {
    pub(super) sorted: Vec<DirectoryItem>,
    /// Whether the folder holds more entries than were read.
    pub(super) more: bool,
}

impl FileKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            FileKind::File => "file",
            FileKind::Folder => "folder",
            FileKind::Link => "link",
            FileKind::Other => "other",
        }
    }

    fn of(kind: FileType) -> FileKind {
        match kind {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Folder,
            FileType::Symlink => FileKind::Link,
            _ => FileKind::Other,
        }
    }
}

/// Reads a folder. It leaves out names that are not UTF-8, because no path can name them.
pub(super) fn items(folder: &OwnedFd) -> Result<Items, Errno> {
    let mut items = Items::default();
    // The descriptor may be `O_PATH`, which cannot be read.
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    for entry in Dir::new(rustix::fs::openat(folder, ".", flags, Mode::empty())?)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if matches!(name, "." | "..") || is_house(name) {
            continue;
        }
        if items.sorted.len() == MOST_NAMES {
            items.more = true;
            break;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => kind_of(folder, name),
            known => FileKind::of(known),
        };
        items.sorted.push(DirectoryItem { name: name.to_owned(), kind });
    }
    items.sorted.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(items)
}

/// The size of a file in bytes; `None` if it no longer exists.
pub(super) fn size(folder: &OwnedFd, name: &str) -> Option<u64> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    u64::try_from(stat.st_size).ok()
}

fn kind_of(folder: &OwnedFd, name: &str) -> FileKind {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileKind::Other, |stat| FileKind::of(FileType::from_raw_mode(stat.st_mode)))
}
