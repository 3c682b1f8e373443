//! bubblewrap back end: builds the same file system as the launcher, as `bwrap` arguments.
//!
//! Our launcher runs inside as the first process and does what bubblewrap does not: resource
//! limits, Landlock, the seccomp filter, the gate, and the reports.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::inside::{self, Builder};
use super::system::{DEVICES, ETC, LINKS, SYSTEM, WRITTEN, is_root, showable};
use super::{Report, WITHIN, kernel};
use crate::confined::secrets::in_memory;
use crate::{Access, ConfinedProgram, Launcher, StartRefusal};

/// Arguments for new namespaces without a controlling terminal; the first process is ours.
const ALWAYS: [&str; 17] = [
    "--unshare-user-try",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--hostname",
    "haft",
    "--cap-drop",
    "ALL",
    "--new-session",
    "--as-pid-1",
    "--clearenv",
    "--chdir",
    "/",
    "--proc",
    "/proc",
];

/// The `bwrap` command that starts the launcher inside.
pub(crate) fn wrapped(
    confined: &ConfinedProgram,
    program: &Path,
    launcher: &Launcher,
) -> Result<Command, StartRefusal> {
    let broken = |fault: io::Error| StartRefusal::Broken(format!("bubblewrap: {fault}"));
    let ours = File::open(launcher.path()).map_err(|fault| {
        StartRefusal::Broken(format!("`{}`: {fault}", launcher.path().display()))
    })?;
    let mut files = vec![OwnedFd::from(ours)];
    let mut command = Command::new(program);
    command.args(ALWAYS).args(system());
    for (place, text) in WRITTEN {
        let file = in_memory(text).map_err(broken)?;
        let number = file.as_raw_fd().to_string();
        command.args(["--perms", "0644", "--ro-bind-data", &number, &format!("/{place}")]);
        files.push(file);
    }
    command.args(private(confined.bounds.file_size)).args(shown(confined)?);
    command.args(confined.hidden.iter().filter(|path| is_seen(path, confined)).flat_map(cover));
    if !is_shown(&confined.cwd, confined) {
        command.args(["--perms", "0555", "--dir"]).arg(&confined.cwd);
    }
    let first = files.first().map_or(0, |file| file.as_raw_fd());
    command.args(["--remount-ro", "/", "--", &format!("/proc/self/fd/{first}"), WITHIN]);
    kernel::keep(&mut command, files);
    Ok(command)
}

/// Runs the part inside bubblewrap, and returns the exit code.
pub(super) fn run() -> i32 {
    match kernel::close_inherited() {
        Ok(()) => inside::run(Builder::Bubblewrap, inside::tied()),
        Err(_) => 1,
    }
}

/// The layers that bubblewrap built, checked from inside.
pub(super) fn built() -> Result<Vec<String>, Report> {
    if is_root() {
        return Err(Report::Unenforced(
            "bubblewrap does not count root's processes; run haft as an ordinary user".into(),
        ));
    }
    Ok(vec!["bubblewrap".to_owned()])
}

fn system() -> Vec<OsString> {
    let mut words = Vec::new();
    for place in SYSTEM.iter().chain(&ETC).map(Path::new) {
        match fs::symlink_metadata(place) {
            // A symlink in `/etc` is replaced by its target.
            Ok(found) if found.is_symlink() && !place.starts_with("/etc") => {
                if let Ok(target) = fs::read_link(place) {
                    words.extend(["--symlink".into(), target.into(), place.into()]);
                }
            }
            Ok(_) if place.exists() => words.extend(bound("--ro-bind", place)),
            Ok(_) | Err(_) => {}
        }
    }
    words.extend(DEVICES.map(Path::new).iter().flat_map(|place| bound("--dev-bind", place)));
    for (place, target) in LINKS {
        words.extend(["--symlink".into(), target.into(), format!("/{place}").into()]);
    }
    words
}

fn private(room: u64) -> [String; 6] {
    ["--perms", "1777", "--size", &room.to_string(), "--tmpfs", "/tmp"].map(str::to_owned)
}

fn shown(confined: &ConfinedProgram) -> Result<Vec<OsString>, StartRefusal> {
    let mut words = Vec::new();
    for shown in &confined.shown {
        if showable(&shown.path).is_err() || !shown.path.exists() {
            let path = shown.path.display();
            let why = format!("`{path}` cannot be shown to a confined program");
            return Err(StartRefusal::Unenforced(why));
        }
        let way = match shown.access {
            Access::Read => "--ro-bind",
            Access::Write => "--bind",
        };
        words.extend(bound(way, &shown.path));
    }
    Ok(words)
}

fn bound(way: &str, place: &Path) -> [OsString; 3] {
    [way.into(), place.into(), place.into()]
}

fn is_shown(path: &Path, confined: &ConfinedProgram) -> bool {
    path.exists() && confined.shown.iter().any(|shown| path.starts_with(&shown.path))
}

/// Whether a path is shown, or belongs to the system folders that every program sees.
fn is_seen(path: &Path, confined: &ConfinedProgram) -> bool {
    let of_system = SYSTEM.iter().any(|place| path.starts_with(place));
    is_shown(path, confined) || (of_system && path.exists())
}

/// Arguments that cover a path with an empty folder or file.
fn cover(path: &PathBuf) -> Vec<OsString> {
    if path.is_dir() {
        let covered = ["--perms", "0555", "--size", "4096", "--tmpfs"].map(OsString::from);
        let sealed = ["--remount-ro".into(), path.into()];
        return covered.into_iter().chain([path.into()]).chain(sealed).collect();
    }
    vec!["--ro-bind".into(), "/dev/null".into(), path.into()]
}
