//! Provisioning (AIP-29): installs the program of a driver, checks its version and runs its set-up
//! steps.
//!
//! Nothing here runs by itself: the caller has asked a person first.

mod download;
mod steps;
#[cfg(test)]
mod tests;
mod ways;

use std::collections::BTreeMap;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use haft_contract::DriverManifest;
use haft_model::{Code, EffectProfile, Facts, Stop, Tri};
use haft_notation::ecma_group;
use haft_sandbox::{ConfinedProgram, ExitKind, ProgramExit, StartRefusal, Walls};

use crate::WorkingFolder;
use crate::cli::program;
use crate::failure::{OUT_OF_MEMORY, complaint, violation};
use crate::sandbox_opening::{SandboxOpening, looking};

pub use steps::{SetupStep, SetupWork};
pub use ways::InstallWay;

/// Timeout of an installation.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Environment variables that are passed on to installers.
const PASSED: [&str; 10] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "TERM",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
];

/// The program of one driver, and how to provision it.
pub struct Provision {
    manifest: DriverManifest,
    /// Folder of the manifest.
    folder: PathBuf,
    place: WorkingFolder,
}

impl Provision {
    /// Builds the provisioning of a driver whose manifest lies in `folder`.
    pub fn new(manifest: DriverManifest, folder: PathBuf, place: WorkingFolder) -> Provision {
        Provision { manifest, folder, place }
    }

    /// Whether the driver needs a login.
    pub fn has_login(&self) -> bool {
        self.manifest.auth.is_some()
    }

    /// The path of the program.
    pub fn program(&self) -> Result<String, Stop> {
        program::find(self.bin(), self.id(), &self.place, &self.root()?)
    }

    /// Identifies the program's file by path, modification time and size.
    pub fn stamp(&self) -> Option<String> {
        let file = program::file(self.bin(), self.id(), &self.place, &self.root().ok()?)?;
        let about = std::fs::metadata(&file).ok()?;
        let since = about.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(format!("{} {} {}", file.display(), since.as_nanos(), about.len()))
    }

    /// The version that the program reports; `None` if the driver does not say how to ask.
    /// `satisfies` compares a version with a range.
    pub async fn version(
        &self,
        satisfies: impl Fn(&str, &str) -> bool,
    ) -> Result<Option<String>, Stop> {
        let Some(check) = &self.manifest.version_check else { return Ok(None) };
        let patience = Duration::from_millis(check.timeout_ms.unwrap_or(5000));
        let ended = self.confined(&check.cmd, None, &looking([]), patience).await?;
        let found = [&ended.stdout, &ended.stderr].into_iter().find_map(|said| {
            ecma_group(&check.parse, &String::from_utf8_lossy(said)).ok().flatten()
        });
        let Some(version) = found else {
            let words = format!("`{}` did not say its version", check.cmd);
            return Err(setup(format!("{words}{}", complaint(&ended.stderr))));
        };
        match satisfies(&version, &check.range) {
            true => Ok(Some(version)),
            false => {
                let range = &check.range;
                let words = format!("`{}` is {version}, and `{range}` is needed", self.bin());
                Err(setup(words).help("install another version of it"))
            }
        }
    }

    /// Runs a set-up command in the driver's sandbox, and returns its exit code. `value` replaces
    /// `${value}`.
    pub async fn command(
        &self,
        text: &str,
        value: Option<&str>,
        patience: Duration,
    ) -> Result<i32, Stop> {
        let ended = self.confined(text, value, &self.changing(), patience).await?;
        match ended.end {
            ExitKind::Exited(code) => Ok(code),
            ExitKind::Killed(signal) => {
                Err(setup(format!("`{text}` was ended by signal {signal}")))
            }
            ExitKind::OutOfMemory => Err(setup(format!("`{text}` was ended: {OUT_OF_MEMORY}"))),
            ExitKind::OutOfTime | ExitKind::CalledOff => {
                Err(setup(format!("`{text}` took longer than {} ms", patience.as_millis())))
            }
        }
    }

    async fn confined(
        &self,
        text: &str,
        value: Option<&str>,
        effects: &EffectProfile,
        patience: Duration,
    ) -> Result<ProgramExit, Stop> {
        let opening = SandboxOpening::within(&self.manifest, effects, &self.place)?;
        let known = |name: &str| match (name, value) {
            ("value", Some(value)) => Some(value.to_owned()),
            (name, _) => opening.env.get(name).cloned().or_else(|| (self.place.variable)(name)),
        };
        let words = crate::argv_split::split(text, known)
            .map_err(|why| setup(format!("`{text}`: {why}")))?;
        let Some((bin, args)) = words.split_first() else {
            return Err(setup("a command of the set-up names no program".to_owned()));
        };
        let found = program::find(bin, self.id(), &self.place, &opening.root)?;
        let confined = opening.confined(&found, args.to_vec(), &self.place);
        self.ran(confined, &self.place.walls, patience).await
    }

    async fn ran(
        &self,
        confined: ConfinedProgram,
        walls: &Walls,
        patience: Duration,
    ) -> Result<ProgramExit, Stop> {
        let name = confined.program.display().to_string();
        let ran = confined.run(walls, Instant::now() + patience, pending()).await;
        ran.map_err(|refused| match refused {
            StartRefusal::Violation(words) => violation(format!("`{name}`: {words}")),
            refused => setup(format!("`{name}` could not be run: {refused}")),
        })
    }

    /// Runs a program unconfined, with the rights of the user who runs Haft, as installers need.
    async fn unconfined(&self, command: &[String]) -> Result<(), Stop> {
        let Some((program, args)) = command.split_first() else { return Ok(()) };
        let passed = PASSED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), (self.place.variable)(name)?)));
        let confined = ConfinedProgram {
            program: PathBuf::from(program),
            args: args.to_vec(),
            env: passed.collect::<BTreeMap<_, _>>(),
            cwd: self.root()?,
            ..ConfinedProgram::default()
        };
        let ended = self.ran(confined, &Walls::Off, PATIENCE).await?;
        match ended.end {
            ExitKind::Exited(0) => Ok(()),
            ExitKind::Exited(code) => {
                let said = complaint(&ended.stderr);
                Err(setup(format!("`{}` ended with code {code}{said}", command.join(" "))))
            }
            ExitKind::Killed(_)
            | ExitKind::OutOfMemory
            | ExitKind::OutOfTime
            | ExitKind::CalledOff => Err(setup(format!("`{}` was ended", command.join(" ")))),
        }
    }

    /// The effects of a set-up step: what the driver declares, without a contract.
    fn changing(&self) -> EffectProfile {
        let looking = looking(self.manifest.egress().iter().cloned());
        let facts = Facts { read_only: Tri::No, ..looking.facts.clone() };
        EffectProfile { mutates_stated: false, facts, ..looking }
    }

    fn id(&self) -> &str {
        &self.manifest.id
    }

    /// The program; empty where the driver has none.
    fn bin(&self) -> &str {
        self.manifest.program().map(|fields| fields.bin.as_str()).unwrap_or_default()
    }

    fn root(&self) -> Result<PathBuf, Stop> {
        let root = self.place.real_root();
        root.map_err(|fault| setup(format!("the workspace cannot be found: {fault}")))
    }

    /// The folder for programs that Haft installed.
    fn shelf(&self) -> Result<PathBuf, Stop> {
        program::shelf(&self.place, self.id()).ok_or_else(|| {
            setup("there is no home folder to put a program in".to_owned()).help("set `HOME`")
        })
    }

    /// The program's path on the shelf; Haft does not install a program that is named by a path.
    fn on_shelf(&self, shelf: &Path) -> Result<PathBuf, Stop> {
        let bin = self.bin();
        match bin.contains('/') {
            false => Ok(shelf.join(bin)),
            true => Err(setup(format!("`{bin}` names a place; only a bare name can be installed"))),
        }
    }
}

/// The refusal of a driver that is not ready.
fn setup(words: String) -> Stop {
    Stop::new(Code::SetupRequired, words)
}
