//! System view: the parts of the system that every confined program sees, with either back end.

use std::fs;
use std::path::{Component, Path};

use rustix::process::geteuid;

use super::Report;

/// The folders of programs and libraries.
pub(super) const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// The files of `/etc` that programs need to run at all.
pub(super) const ETC: [&str; 6] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
    "/etc/nsswitch.conf",
];

pub(super) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Files that are the same in every sandbox.
pub(super) const WRITTEN: [(&str, &str); 3] = [
    ("etc/passwd", "root:x:0:0:root:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
    ("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
];

pub(super) const LINKS: [(&str, &str); 4] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
];

/// Refuses a path that is not absolute and plain, or that a mount of our own takes.
pub(super) fn showable(path: &Path) -> Result<(), Report> {
    let plain = path.is_absolute()
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let ours = ["/proc", "/dev", "/sys"].iter().any(|taken| path.starts_with(taken));
    if plain && !ours && path != Path::new("/") && path != Path::new("/tmp") {
        return Ok(());
    }
    Err(Report::Unenforced(format!("`{}` cannot be shown to a confined program", path.display())))
}

/// Whether we are root outside, whose processes no limit counts.
pub(super) fn is_root() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let mut numbers = map.split_whitespace().map(|number| number.parse().unwrap_or(0_u32));
    let (inside, outside) = (numbers.next().unwrap_or_default(), numbers.next());
    let own = geteuid().as_raw().saturating_sub(inside);
    outside.is_none_or(|outside| outside.saturating_add(own) == 0)
}
