//! Sandbox file system: the system's programs, a private `/tmp`, and the paths that are shown.
//!
//! Every path is first cloned as a detached mount and then attached to an empty file system, so the
//! order of paths does not matter and nothing else comes along.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, pivot_root};
use rustix::thread::UnshareFlags;

use super::kernel::{self, Reach, restrict};
use super::system::{DEVICES, ETC, LINKS, SYSTEM, WRITTEN, is_root, showable};
use super::{Orders, Report, doing};
use crate::{Access, Bounds};

/// A folder that exists on every machine: the new root is mounted over it for a moment.
const SCAFFOLD: &str = "/usr";

const NO_PRIVILEGE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
const LOOK: u64 = NO_PRIVILEGE | libc::MOUNT_ATTR_RDONLY;

/// The first kernel version that counts processes per namespace.
const COUNTS_PROCESSES: (u32, u32) = (6, 14);

/// The lowest `pid_max` that such a kernel accepts.
const FEWEST_PROCESSES: u64 = 301;

/// A mount to attach.
struct Piece {
    place: PathBuf,
    mount: OwnedFd,
    folder: bool,
}

/// A symlink of the system: its path and its target.
type Link = (PathBuf, PathBuf);

/// Builds the file system and makes it the root.
pub(super) fn build(orders: &Orders) -> Result<Vec<String>, Report> {
    kernel::leave(UnshareFlags::NEWNS).map_err(doing("mounts could not be copied"))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|fault| doing("mounts could not be taken")(fault.into()))?;
    let (pieces, links) = taken(orders)?;
    let counted = assemble(orders, pieces, &links).map_err(doing("the file system inside"))?;
    let _ = rustix::system::sethostname(b"haft");
    let mut layers = vec!["namespaces".to_owned(), "mounts".to_owned()];
    if counted {
        layers.push("process count".to_owned());
    } else if is_root() {
        return Err(Report::Unenforced(
            "root's processes are counted by no kernel before 6.14; run haft as an ordinary user"
                .into(),
        ));
    }
    Ok(layers)
}

/// Detached clones of the paths on this machine, each with as few rights as it needs.
fn taken(orders: &Orders) -> Result<(Vec<Piece>, Vec<Link>), Report> {
    let (mut pieces, mut links) = (Vec::new(), Vec::new());
    for place in SYSTEM.iter().chain(&ETC).map(Path::new) {
        match fs::symlink_metadata(place) {
            // A symlink in `/etc` is replaced by its target.
            Ok(found) if found.is_symlink() && !place.starts_with("/etc") => {
                let target = fs::read_link(place).map_err(doing("a link of the system"))?;
                links.push((inner(place), target));
            }
            Ok(_) if place.exists() => pieces.push(piece(place, LOOK)?),
            Ok(_) | Err(_) => {}
        }
    }
    for place in DEVICES.map(Path::new) {
        pieces.push(piece(place, libc::MOUNT_ATTR_NOSUID)?);
    }
    for shown in &orders.shown {
        let path = &shown.path;
        showable(path)?;
        let rights = match shown.access {
            Access::Read => LOOK,
            Access::Write => NO_PRIVILEGE,
        };
        pieces.push(piece(path, rights)?);
    }
    Ok((pieces, links))
}

fn piece(place: &Path, rights: u64) -> Result<Piece, Report> {
    let copy = || -> io::Result<Piece> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE;
        let mount = open_tree(CWD, place, flags)?;
        restrict(&mount, rights, Reach::Below)?;
        Ok(Piece { place: inner(place), mount, folder: place.is_dir() })
    };
    copy().map_err(doing(&format!("`{}` could not be shown", place.display())))
}

/// Attaches everything over the scaffold and pivots into it. Returns whether processes are counted.
fn assemble(orders: &Orders, pieces: Vec<Piece>, links: &[Link]) -> io::Result<bool> {
    let root = fresh("tmpfs", &[("size", "4m"), ("mode", "0755")], MountAttrFlags::empty())?;
    attach(&root, Path::new(SCAFFOLD))?;
    chdir(SCAFFOLD)?;
    let (proc, counted) = processes(&orders.bounds)?;
    let room = orders.bounds.file_size.to_string();
    let inodes = orders.bounds.inodes.to_string();
    let options = [("size", room.as_str()), ("nr_inodes", &inodes), ("mode", "1777")];
    let tmp = fresh("tmpfs", &options, plain_mount())?;
    for (place, mount) in [("proc", proc), ("tmp", tmp)] {
        put(&Piece { place: place.into(), mount, folder: true })?;
    }
    pieces.iter().try_for_each(put)?;
    start(&inner(&orders.cwd))?;
    for (place, target) in links {
        above(place)?;
        symlink(target, place)?;
    }
    for (place, target) in LINKS {
        symlink(target, place)?;
    }
    for (place, text) in WRITTEN {
        fs::create_dir_all("etc")?;
        fs::write(place, text)?;
    }
    orders.hidden.iter().try_for_each(|path| hide(&inner(path)))?;
    move_in()?;
    Ok(counted)
}

/// Creates the working directory, empty if it is not below a shown path.
fn start(place: &Path) -> io::Result<()> {
    // The root itself has an empty name here.
    if place.as_os_str().is_empty() || place.exists() {
        return Ok(());
    }
    fs::create_dir_all(place)?;
    fs::set_permissions(place, fs::Permissions::from_mode(0o555))
}

/// Covers a path with an empty folder or file.
fn hide(place: &Path) -> io::Result<()> {
    let Ok(found) = fs::metadata(place) else { return Ok(()) };
    let cover = match found.is_dir() {
        true => fresh("tmpfs", &[("size", "4k"), ("mode", "0555")], plain_mount())?,
        false => open_tree(
            CWD,
            "dev/null",
            OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC,
        )?,
    };
    restrict(&cover, libc::MOUNT_ATTR_RDONLY, Reach::Only)?;
    attach(&cover, place)
}

/// Makes the new file system the root, and unmounts the old one.
fn move_in() -> io::Result<()> {
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY;
    let root = rustix::fs::open("/", flags, Mode::empty())?;
    restrict(&root, LOOK, Reach::Only)
}

/// Mounts `/proc` of this PID namespace, read-only, because root's files there belong to the
/// machine.
fn processes(bounds: &Bounds) -> io::Result<(OwnedFd, bool)> {
    let flags = plain_mount() | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let proc = fresh("proc", &[], flags)?;
    let counted = counts_processes();
    if counted {
        let place = "sys/kernel/pid_max";
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let most = bounds.processes.max(FEWEST_PROCESSES).to_string();
        let file = rustix::fs::openat(&proc, place, flags, Mode::empty())?;
        rustix::io::write(&file, most.as_bytes())?;
    }
    restrict(&proc, LOOK, Reach::Only)?;
    Ok((proc, counted))
}

/// Whether the kernel counts processes per namespace; older ones have one `pid_max` for the whole
/// machine.
fn counts_processes() -> bool {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut parts = release.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()) >= COUNTS_PROCESSES
}

fn plain_mount() -> MountAttrFlags {
    MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV
}

/// Creates a detached file system.
fn fresh(kind: &str, options: &[(&str, &str)], rights: MountAttrFlags) -> io::Result<OwnedFd> {
    let made = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        fsconfig_set_string(&made, *name, *value)?;
    }
    fsconfig_create(&made)?;
    Ok(fsmount(&made, FsMountFlags::FSMOUNT_CLOEXEC, rights)?)
}

/// Attaches a mount, and creates its mount point if needed.
fn put(piece: &Piece) -> io::Result<()> {
    let place = &piece.place;
    if piece.folder {
        fs::create_dir_all(place)?;
    } else {
        above(place)?;
        if !place.exists() {
            fs::File::create(place)?;
        }
    }
    attach(&piece.mount, place)
}

fn attach(mount: &OwnedFd, place: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(move_mount(mount, "", CWD, place, flags)?)
}

fn above(place: &Path) -> io::Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)
}

/// A path relative to the new root.
fn inner(place: &Path) -> PathBuf {
    place.strip_prefix("/").unwrap_or(place).to_owned()
}
