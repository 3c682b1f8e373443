//! Hardening checks: misconfigurations that break nothing, and that an attacker or an accident
//! would use.
//!
//! Each is reported only where it applies, with its remedy.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_contract::host::is_loopback;
use haft_contract::settings::HookTarget;
use haft_ledger::{Run, RunFilter};
use haft_model::{Code, Role, Timestamp};
use haft_runtime::Reader;
use haft_sandbox::{PROGRAMS, TotalMemory, Walls};

use super::super::{Host, hooks, vault};
use super::{Degree, DoctorFinding};
use crate::workspace::SIDE_FILES;

/// How many recent calls are examined.
const CALLS: usize = 50;

/// How far the clock of one call may go back before it counts as a step.
const SLACK: Duration = Duration::from_secs(1);

/// File systems that forget everything, and those of another machine, where locks may not hold.
const FORGETFUL: [&str; 2] = ["tmpfs", "ramfs"];
const REMOTE: [&str; 10] =
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "fuse.sshfs", "fuse.glusterfs"];

impl Host {
    /// Everything of this kind.
    pub(super) async fn hardening_examined(&self) -> Vec<DoctorFinding> {
        let runs = RunFilter { most: CALLS, ..RunFilter::default() };
        let runs = self.reader().runs(&runs).await.unwrap_or_default();
        let mut found = Vec::new();
        found.extend(self.memory_examined(TotalMemory::here()));
        found.extend(self.files_examined());
        found.extend(self.listening_examined().await);
        found.extend(self.default_actor_examined());
        found.extend(steps(&self.reader(), &runs).await);
        found.extend(self.store_folder_examined());
        found.extend(self.circuits_examined(Timestamp::now()));
        found.extend(self.hooks_examined(&runs));
        found
    }

    /// Whether the processes of a program are limited together.
    fn memory_examined(&self, memory: &TotalMemory) -> Option<DoctorFinding> {
        let walls = hooks::place(&self.workspace(), &self.given).walls;
        match (walls, memory) {
            // Another check reports that already, and worse.
            (Walls::Off | Walls::Missing, _) => None,
            (_, TotalMemory::V2(_) | TotalMemory::V1(_)) => None,
            (_, TotalMemory::EachProcess(why)) => {
                let words = format!(
                    "memory is limited for each process of a program, and not for all together: {why}"
                );
                let mend = "see docs/operate/sandbox.md#memory-of-all-processes";
                Some(DoctorFinding::new("sandbox", Degree::Warning, words).mended_by(mend))
            }
        }
    }

    /// Files that others may change, and those that are known by several names.
    fn files_examined(&self) -> Vec<DoctorFinding> {
        let workspace = self.workspace();
        let root = workspace.root();
        let mut governing: BTreeSet<PathBuf> =
            SIDE_FILES.iter().map(|name| root.join(name)).collect();
        governing.extend(workspace.readings().map(|(file, _)| root.join(file)));
        governing.extend(self.hook_files());
        let mut all: BTreeSet<PathBuf> = governing.clone();
        all.extend(governing.iter().filter_map(|file| Some(file.parent()?.to_owned())));
        let state = root.join(".haft");
        all.extend(fs::read_dir(&state).into_iter().flatten().flatten().map(|entry| entry.path()));
        all.extend([root.to_owned(), state]);
        if let Ok(store) = workspace.store_files() {
            all.extend([store.db, store.payloads]);
        }
        all.extend(vault::key_place(&self.given).file);
        let own = fs::metadata("/proc/self").map(|about| about.uid()).ok();
        let mut found = Vec::new();
        for file in &all {
            let Ok(about) = fs::symlink_metadata(file) else { continue };
            found.extend(changeable(file, &about, own));
            if governing.contains(file) {
                found.extend(linked(file, &about));
            }
        }
        found
    }

    /// The files of the workspace that hooks are started by.
    fn hook_files(&self) -> Vec<PathBuf> {
        let workspace = self.workspace();
        let commands = workspace.settings().hooks.iter().filter_map(|hook| match &hook.target {
            HookTarget::Run(command) => Some(command.clone()),
            HookTarget::Url(_) => None,
        });
        let words = commands.flatten().map(|word| workspace.root().join(word));
        words.filter(|path| path.is_file() && path.starts_with(workspace.root())).collect()
    }

    /// Whether other machines can reach a server that no caller can show anything to.
    async fn listening_examined(&self) -> Option<DoctorFinding> {
        let workspace = self.workspace();
        let server = &workspace.settings().server;
        if is_loopback(&server.listen) || server.oauth.is_some() {
            return None;
        }
        match self.runtime().has_tokens().await {
            Ok(true) => None,
            Ok(false) | Err(_) => {
                let listen = &server.listen;
                let words = format!(
                    "other machines can reach `{listen}`, and there is neither a token nor `[server.oauth]`"
                );
                let found = DoctorFinding::new("server", Degree::Warning, words);
                Some(found.mended_by("haft token new agent:NAME"))
            }
        }
    }

    /// Whether callers without a token act as a person or hold a privileged role.
    fn default_actor_examined(&self) -> Option<DoctorFinding> {
        let workspace = self.workspace();
        let id = &workspace.settings().workspace.default_actor;
        let actor = self.actor(id.as_str());
        let roles: Vec<&str> = [Role::Approver, Role::Admin, Role::Auditor]
            .iter()
            .filter(|role| actor.roles.contains(role))
            .map(|role| role.name())
            .collect();
        let (degree, what) = match (id.as_str().starts_with("user:"), roles.is_empty()) {
            (_, false) => (Degree::Broken, format!("has the role `{}`", roles.join("` and `"))),
            (true, true) => (Degree::Warning, "is a person".to_owned()),
            (false, true) => return None,
        };
        let words = format!("`{id}`, who callers without a token are, {what}");
        let mend = "write `default_actor = \"agent:local\"` under `[workspace]` in haft.toml";
        Some(DoctorFinding::new("actor", degree, words).mended_by(mend))
    }

    /// Whether the store lies on a file system that persists it, and where locks hold.
    fn store_folder_examined(&self) -> Option<DoctorFinding> {
        let db = self.workspace().store_files().ok()?.db;
        let existing = db.ancestors().find(|path| path.exists())?;
        let folder = fs::canonicalize(existing).ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let kind = file_system(&mounts, &folder)?;
        let why = match kind {
            _ if FORGETFUL.contains(&kind) => "which is empty after a restart",
            _ if REMOTE.contains(&kind) => "which is another machine's, so that locks may not hold",
            _ => return None,
        };
        let words = format!("`{}` lies on {kind}, {why}", db.display());
        let mend =
            "write `url = \"sqlite:PATH\"` under `[store]` in haft.toml, on a disk of this machine";
        Some(DoctorFinding::new("store", Degree::Warning, words).mended_by(mend))
    }

    /// The open circuit breakers, as far as processes of the workspace recorded them.
    fn circuits_examined(&self, now: Timestamp) -> Vec<DoctorFinding> {
        let watch = self.watch();
        let open = watch.open_circuits(now).into_iter().map(|(circuit, rest)| {
            let at = circuit.host.map(|host| format!(" at `{host}`")).unwrap_or_default();
            let words = format!("`{}`{at} is left alone: {}", circuit.tool, rest.reason());
            let mend = format!("haft call {} --pin {}", circuit.tool, circuit.driver);
            let what = format!("driver {}", circuit.driver);
            DoctorFinding::new(what, Degree::Broken, words).mended_by(mend)
        });
        open.collect()
    }

    /// Hooks that cannot be started, and calls that ended because a hook failed.
    fn hooks_examined(&self, runs: &[Run]) -> Vec<DoctorFinding> {
        let workspace = self.workspace();
        let mut found = Vec::new();
        for hook in &workspace.settings().hooks {
            let HookTarget::Run(command) = &hook.target else { continue };
            let Some(why) = command.first().and_then(|one| unstartable(workspace.root(), one))
            else {
                continue;
            };
            let words = format!("hook `{}` cannot be heard: {why}", command.join(" "));
            found.push(DoctorFinding::new("hooks", Degree::Broken, words).mended_by("haft check"));
        }
        let unheard =
            |run: &&Run| matches!(run.error_code, Some(Code::HookFailed | Code::HookPostFailed));
        if let Some(last) = runs.iter().find(unheard) {
            let many = runs.iter().filter(unheard).count();
            let words = format!(
                "of the last {} calls, {many} ended because a hook could not be heard",
                runs.len()
            );
            let found_in = format!("haft trace {}", last.invocation_id);
            found.push(DoctorFinding::new("hooks", Degree::Warning, words).mended_by(found_in));
        }
        found
    }
}

/// Whether others than this user may change a file.
fn changeable(file: &Path, about: &Metadata, own: Option<u32>) -> Vec<DoctorFinding> {
    // The rights of a link are those of what it leads to.
    if about.is_symlink() {
        return Vec::new();
    }
    let shown = file.display();
    let mut found = Vec::new();
    // In a folder with this bit each can change only what is their own.
    let sticky = about.is_dir() && about.mode() & 0o1000 != 0;
    if about.mode() & 0o002 != 0 && !sticky {
        let words = format!("`{shown}` can be changed by every user of this machine");
        let seen = DoctorFinding::new("files", Degree::Broken, words);
        found.push(seen.mended_by(format!("chmod o-w {shown}")));
    }
    if own.is_some_and(|own| about.uid() != own && about.uid() != 0) {
        let words = format!(
            "`{shown}` belongs to the user {}, and Haft runs as {}",
            about.uid(),
            own.unwrap_or_default()
        );
        let seen = DoctorFinding::new("files", Degree::Warning, words);
        found.push(seen.mended_by(format!("chown {} {shown}", own.unwrap_or_default())));
    }
    found
}

/// Whether a file can be changed by another name.
fn linked(file: &Path, about: &Metadata) -> Option<DoctorFinding> {
    let names = about.nlink();
    if !about.is_file() || names < 2 {
        return None;
    }
    let shown = file.display();
    let words = format!("`{shown}` has {names} names, and can be changed by each of them");
    let mend = format!("cp -p {shown} {shown}.own && mv {shown}.own {shown}");
    Some(DoctorFinding::new("files", Degree::Warning, words).mended_by(mend))
}

/// Why the program of a hook cannot be started, as far as files tell.
fn unstartable(root: &Path, program: &str) -> Option<String> {
    let is_program = |path: &Path| {
        fs::metadata(path).is_ok_and(|about| about.is_file() && about.mode() & 0o111 != 0)
    };
    let fits = match program.contains('/') {
        true => is_program(&root.join(program)),
        false => PROGRAMS.split(':').any(|folder| is_program(&Path::new(folder).join(program))),
    };
    (!fits).then(|| format!("`{program}` is no program that can be run"))
}

/// The kind of file system that a folder lies on.
fn file_system<'m>(mounts: &'m str, folder: &Path) -> Option<&'m str> {
    let mut best: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let Some(place) = before.split(' ').nth(4) else { continue };
        let kind = after.split(' ').next().unwrap_or_default();
        // Of two at one place the later one is seen.
        if folder.starts_with(place) && best.is_none_or(|(length, _)| place.len() >= length) {
            best = Some((place.len(), kind));
        }
    }
    best.map(|(_, kind)| kind)
}

/// Whether the clock went back while a call was in flight.
async fn steps(reader: &Reader, runs: &[Run]) -> Option<DoctorFinding> {
    for run in runs {
        let Ok(story) = reader.story(&run.invocation_id).await else { continue };
        let facts = story.iter().filter_map(|entry| Reader::facts(entry).ok()).flatten();
        let times: Vec<Timestamp> = facts.map(|fact| fact.at).collect();
        let back = times.windows(2).find_map(|pair| match pair {
            [before, after] if *after + SLACK < *before => Some((*before, *after)),
            _ => None,
        });
        if let Some((before, after)) = back {
            let id = &run.invocation_id;
            let words = format!("it went back from {before} to {after} during the call `{id}`");
            let seen = DoctorFinding::new("clock", Degree::Warning, words);
            return Some(seen.mended_by("timedatectl set-ntp true"));
        }
    }
    None
}

#[cfg(test)]
mod tests;
