//! Leak counters for conformance tests. They return 0 where the system has no `/proc`.

use std::fs;
use std::path::Path;

/// Number of open file descriptors of this process.
pub fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Number of living descendants of this process.
pub fn processes() -> usize {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((id, parent_of(id)?))
        })
        .collect();
    let mut ours = vec![std::process::id()];
    let mut seen = 0;
    while let Some(&parent) = ours.get(seen) {
        ours.extend(parents.iter().filter(|(_, known)| *known == parent).map(|(id, _)| id));
        seen += 1;
    }
    ours.len() - 1
}

/// Parent of a process. The process name may hold any character and ends at the last bracket.
fn parent_of(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

/// Number of files and folders below a folder.
pub fn files_below(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let below =
        |path: &Path| if path.is_dir() && !path.is_symlink() { files_below(path) } else { 0 };
    entries.map(|entry| 1 + below(&entry.path())).sum()
}
