//! Control groups (cgroups): limit the memory of all processes of one program together.
//!
//! Each run has its own group, below the group of this process or, in version 2, below the nearest
//! ancestor that may hold it. The group is removed with the run. The next process sweeps up the
//! groups of a process that was killed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::thread;
use std::time::Duration;

/// How often the removal of a group is retried while its last process exits, and the pause between
/// two tries.
const TRIES: u32 = 1000;
const PAUSE: Duration = Duration::from_millis(5);

/// How this machine limits the memory of all processes of a program together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TotalMemory {
    /// Version 2 control groups below this folder.
    V2(PathBuf),
    /// Version 1 control groups below this folder.
    V1(PathBuf),
    /// No shared limit: each process has its own. Holds the reason.
    EachProcess(String),
}

impl TotalMemory {
    /// How this process limits memory; detected once.
    pub fn here() -> &'static TotalMemory {
        &HERE.memory
    }
}

/// What was detected of this machine and this process.
struct Here {
    memory: TotalMemory,
    /// The group of this process, to which the first process inside returns.
    home: PathBuf,
}

static HERE: LazyLock<Here> = LazyLock::new(|| {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let candidates = candidates(&groups, &mounts);
    let memory = chosen(&candidates);
    Here { home: home(&candidates, &memory), memory }
});

/// The group of this process in the hierarchy of a candidate.
fn home(candidates: &[TotalMemory], of: &TotalMemory) -> PathBuf {
    let kind = |one: &TotalMemory| matches!(one, TotalMemory::V2(_));
    let own = candidates.iter().find(|one| kind(one) == kind(of)).and_then(TotalMemory::folder);
    own.unwrap_or(Path::new("/")).to_owned()
}

/// The first folder below which a memory-limited group can be created.
fn chosen(candidates: &[TotalMemory]) -> TotalMemory {
    let mut why = "this machine mounts no control groups for memory".to_owned();
    for candidate in candidates {
        match Group::below(candidate, &home(candidates, candidate), u64::MAX) {
            Ok(Some((probe, _))) => {
                drop(probe);
                sweep(candidate);
                return candidate.clone();
            }
            Ok(None) => {}
            // The nearest folder gives the most useful reason.
            Err(fault) if why.starts_with("this machine") => {
                let folder = candidate.folder().unwrap_or(Path::new("/")).display();
                why = format!("no group can be made below `{folder}`: {fault}");
            }
            Err(_) => {}
        }
    }
    TotalMemory::EachProcess(why)
}

/// The folders below which a group could be created, best first.
fn candidates(groups: &str, mounts: &str) -> Vec<TotalMemory> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let controllers: Vec<&str> = controllers.split(',').collect();
        let (kind, own) = match controllers.as_slice() {
            [""] => ("cgroup2", mounted(mounts, "cgroup2", None, path)),
            many if many.contains(&"memory") => {
                ("cgroup", mounted(mounts, "cgroup", Some("memory"), path))
            }
            _ => continue,
        };
        let Some((folder, top)) = own else { continue };
        match kind {
            "cgroup2" => {
                let above = folder.ancestors().take_while(|one| one.starts_with(&top));
                found.extend(above.map(|one| TotalMemory::V2(one.to_owned())));
            }
            _ => found.push(TotalMemory::V1(folder)),
        }
    }
    found.sort_by_key(|one| matches!(one, TotalMemory::V1(_)));
    found
}

/// Where a group is mounted, and the mount point of its hierarchy.
fn mounted(
    mounts: &str,
    kind: &str,
    option: Option<&str>,
    path: &str,
) -> Option<(PathBuf, PathBuf)> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        if after.next() != Some(kind) {
            return None;
        }
        let options = after.nth(1).unwrap_or_default();
        if option.is_some_and(|wanted| options.split(',').all(|one| one != wanted)) {
            return None;
        }
        let mut before = before.split(' ').skip(3);
        let (root, top) = (before.next()?, PathBuf::from(before.next()?));
        let below = Path::new(path).strip_prefix(root).ok()?;
        let plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        // Joining an empty path would add a trailing slash.
        plain.then(|| (if below == Path::new("") { top.clone() } else { top.join(below) }, top))
    })
}

/// The control group of one run. Drop removes it, as soon as it is empty.
#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
}

/// The descriptors that the first process inside gets of a group. Writing `0` to `join` or `leave`
/// moves the writer into that group, with every process that it starts afterwards.
pub(crate) struct Entrance {
    /// `cgroup.procs` of the run's group.
    pub(crate) join: OwnedFd,
    /// `cgroup.procs` of Haft's own group.
    pub(crate) leave: OwnedFd,
    /// The event counters, with the OOM kills of the group.
    pub(crate) events: OwnedFd,
}

impl Group {
    /// Creates a group with a memory limit; `None` if the limit is unlimited, if there are no
    /// control groups, or if the group of this process is gone.
    pub(crate) fn new(most: u64) -> Option<(Group, Entrance)> {
        if most == u64::MAX {
            return None;
        }
        Group::below(&HERE.memory, &HERE.home, most).ok().flatten()
    }

    fn below(here: &TotalMemory, home: &Path, most: u64) -> io::Result<Option<(Group, Entrance)>> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let Some(parent) = here.folder() else { return Ok(None) };
        if matches!(here, TotalMemory::V2(_)) {
            // The kernel requires this permission to move a process between children of this group.
            OpenOptions::new().write(true).open(parent.join("cgroup.procs"))?;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("{}{number}", prefix(&Owner::own())));
        fs::create_dir(&folder)?;
        let group = Group { folder };
        if most != u64::MAX {
            group.limit(here, most)?;
        }
        let entrance = group.entrance(here, home)?;
        Ok(Some((group, entrance)))
    }

    fn limit(&self, here: &TotalMemory, most: u64) -> io::Result<()> {
        let most = most.to_string();
        match here {
            TotalMemory::V2(_) => {
                self.write("memory.max", &most)?;
                // A machine without swap has no such file.
                let _ = self.write("memory.swap.max", "0");
            }
            TotalMemory::V1(_) => {
                self.write("memory.limit_in_bytes", &most)?;
                let _ = self.write("memory.memsw.limit_in_bytes", &most);
            }
            TotalMemory::EachProcess(_) => {}
        }
        Ok(())
    }

    fn entrance(&self, here: &TotalMemory, home: &Path) -> io::Result<Entrance> {
        let entered = |folder: &Path| {
            OpenOptions::new().write(true).open(folder.join("cgroup.procs")).map(OwnedFd::from)
        };
        let (join, leave) = (entered(&self.folder)?, entered(home)?);
        let (limit, events) = match here {
            TotalMemory::V2(_) => ("memory.max", "memory.events"),
            TotalMemory::V1(_) => ("memory.limit_in_bytes", "memory.oom_control"),
            TotalMemory::EachProcess(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        fs::metadata(self.folder.join(limit))?;
        let events = File::open(self.folder.join(events))?;
        Ok(Entrance { join, leave, events: events.into() })
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(self.folder.join(file))?;
        io::Write::write_all(&mut file, text.as_bytes())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if is_removed(&self.folder) {
            return;
        }
        // Its last process was killed and has not exited yet.
        let folder = std::mem::take(&mut self.folder);
        let late = move || {
            (0..TRIES).any(|_| {
                thread::sleep(PAUSE);
                is_removed(&folder)
            })
        };
        // If the removal fails, the next process sweeps the group up.
        let _ = thread::Builder::new().name("haft-group".to_owned()).spawn(late);
    }
}

fn is_removed(folder: &Path) -> bool {
    match fs::remove_dir(folder) {
        Ok(()) => true,
        Err(fault) => fault.kind() == io::ErrorKind::NotFound,
    }
}

/// The process that owns a group, in its PID namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owner {
    numbering: u64,
    id: u32,
    /// Its start time, because PIDs are reused.
    since: String,
}

impl Owner {
    fn own() -> Owner {
        static OWN: OnceLock<Owner> = OnceLock::new();
        let own = || Owner {
            numbering: fs::metadata("/proc/self/ns/pid")
                .map(|about| about.ino())
                .unwrap_or_default(),
            id: std::process::id(),
            since: since(std::process::id()).unwrap_or_default(),
        };
        OWN.get_or_init(own).clone()
    }

    /// Parses the owner from a group's name.
    fn of(name: &str) -> Option<Owner> {
        let mut parts = name.strip_prefix("haft-")?.split('-');
        let (numbering, id) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Owner { numbering, id, since: parts.next()?.to_owned() })
    }

    fn is_gone(&self) -> bool {
        since(self.id).is_none_or(|since| since != self.since)
    }
}

fn prefix(owner: &Owner) -> String {
    format!("haft-{}-{}-{}-", owner.numbering, owner.id, owner.since)
}

/// The start time of a process, in clock ticks since boot.
fn since(id: u32) -> Option<String> {
    let about = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // A program name may hold anything, so the fields are counted behind it.
    let (_, rest) = about.rsplit_once(") ")?;
    rest.split(' ').nth(19).map(str::to_owned)
}

/// Removes the groups of processes that are gone. A group in use stays, whichever process owns it.
fn sweep(here: &TotalMemory) {
    let own = Owner::own();
    let Some(Ok(entries)) = here.folder().map(fs::read_dir) else { return };
    for entry in entries.flatten() {
        let owner = entry.file_name().to_str().and_then(Owner::of);
        if owner.is_some_and(|owner| owner.numbering == own.numbering && owner.is_gone()) {
            is_removed(&entry.path());
        }
    }
}

impl TotalMemory {
    fn folder(&self) -> Option<&Path> {
        match self {
            TotalMemory::V2(folder) | TotalMemory::V1(folder) => Some(folder),
            TotalMemory::EachProcess(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
