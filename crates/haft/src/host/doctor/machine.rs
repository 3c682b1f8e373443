//! Machine checks: the sandbox, the permissions of keys, and the clock.

use std::future::pending;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use haft_contract::settings::HookTarget;
use haft_ledger::RunFilter;
use haft_model::{DriverKind, Timestamp};
use haft_sandbox::{ConfinedProgram, ExitKind, Walls};

use super::super::{Host, hooks, vault};
use super::{Degree, DoctorFinding};

/// Timeout of a program that does nothing.
const PATIENCE: Duration = Duration::from_secs(20);

/// A day before which no clock can be right.
const TOO_EARLY: &str = "2026-01-01T00:00:00Z";

/// How far two clocks of one machine may differ.
const SLACK: Duration = Duration::from_secs(5);

impl Host {
    /// Whether a program that does nothing can be confined, and by what.
    pub(super) async fn sandbox_examined(&self) -> DoctorFinding {
        let place = hooks::place(&self.workspace(), &self.given);
        let by = match &place.walls {
            Walls::Off => {
                let words = format!(
                    "`sandbox = \"off\"`: NOTHING IS CONFINED; with the rights of Haft run {}",
                    self.programs()
                );
                return DoctorFinding::new("sandbox", Degree::Warning, words)
                    .mended_by("take `sandbox = \"off\"` out of haft.toml");
            }
            Walls::Missing => {
                let words = "nothing can be confined here, so no program is run";
                return DoctorFinding::new("sandbox", Degree::Broken, words)
                    .mended_by("see docs/operate/sandbox.md");
            }
            Walls::By(_) => "by Haft itself",
            Walls::Bubblewrap(..) => "by bubblewrap",
        };
        let program = ConfinedProgram {
            program: "true".into(),
            cwd: "/".into(),
            ..ConfinedProgram::default()
        };
        let ran = program.run(&place.walls, Instant::now() + PATIENCE, pending()).await;
        match ran {
            Ok(ended) if ended.end == ExitKind::Exited(0) => {
                let words = format!("programs are confined {by}: {}", ended.layers.join(", "));
                DoctorFinding::new("sandbox", Degree::Fine, words)
            }
            Ok(ended) => {
                let words = format!("a confined program that does nothing failed: {:?}", ended.end);
                DoctorFinding::new("sandbox", Degree::Broken, words)
                    .mended_by("see docs/operate/sandbox.md")
            }
            Err(refused) => DoctorFinding::new("sandbox", Degree::Broken, refused.to_string())
                .mended_by("see docs/operate/sandbox.md"),
        }
    }

    /// The programs of the workspace, by name.
    fn programs(&self) -> String {
        let workspace = self.workspace();
        let drivers = workspace.drivers();
        let started = |kind| matches!(kind, DriverKind::Cli | DriverKind::Mcp | DriverKind::Sdk);
        let drivers = drivers.iter().filter(|driver| started(driver.kind));
        let drivers = drivers.map(|driver| format!("driver `{}`", driver.id));
        let hooks = workspace.settings().hooks.iter().filter_map(|hook| match &hook.target {
            HookTarget::Run(command) => Some(format!("hook `{}`", command.join(" "))),
            HookTarget::Url(_) => None,
        });
        let all: Vec<String> = drivers.chain(hooks).collect();
        if all.is_empty() { "no programs yet".to_owned() } else { all.join(", ") }
    }

    /// Whether another user may read keys, or what they open.
    pub(super) fn keys_examined(&self) -> Vec<DoctorFinding> {
        let mut files: Vec<PathBuf> = Vec::new();
        if let Ok(store) = self.workspace().store_files()
            && let Some(folder) = store.db.parent()
        {
            files.extend(["seal.key", "audit.key"].map(|name| folder.join(name)));
        }
        files.extend(vault::key_place(&self.given).file);
        let open: Vec<DoctorFinding> =
            files.iter().filter_map(|file| open_to_others(file)).collect();
        match open.is_empty() {
            true => vec![DoctorFinding::new("keys", Degree::Fine, "no other user may read them")],
            false => open,
        }
    }

    /// Whether the clock can be right: it is not before what is on record.
    pub(super) async fn clock_examined(&self) -> DoctorFinding {
        let now = Timestamp::now();
        let broken = |words: String| {
            DoctorFinding::new("clock", Degree::Broken, words).mended_by("timedatectl set-ntp true")
        };
        if haft_model::parse_timestamp(TOO_EARLY).is_some_and(|early| now < early) {
            return broken(format!("it says {now}, which was long ago"));
        }
        let last = RunFilter { most: 1, ..RunFilter::default() };
        let last = self.reader().runs(&last).await.ok().and_then(|runs| runs.into_iter().next());
        match last.map(|run| run.created_at).filter(|last| *last > now + SLACK) {
            Some(last) => broken(format!("it says {now}, and a call is on record from {last}")),
            None => DoctorFinding::new("clock", Degree::Fine, now.to_string()),
        }
    }
}

fn open_to_others(file: &Path) -> Option<DoctorFinding> {
    let shown = file.display();
    match fs::metadata(file) {
        Ok(about) if about.permissions().mode() & 0o077 != 0 => {
            let mode = about.permissions().mode() & 0o777;
            let words = format!("`{shown}` can be read by others: its mode is {mode:o}");
            Some(
                DoctorFinding::new("keys", Degree::Broken, words)
                    .mended_by(format!("chmod 600 {shown}")),
            )
        }
        Err(fault) if fault.kind() != io::ErrorKind::NotFound => {
            let words = format!("`{shown}` cannot be looked at: {fault}");
            Some(DoctorFinding::new("keys", Degree::Warning, words))
        }
        Ok(_) | Err(_) => None,
    }
}
