//! Login command: runs a driver's own login program, confined like its other programs.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_contract::driver::manifest::{CompletesWhen, DriverManifest};
use haft_driver::BoxFuture;
use haft_model::{CauseDetail, Code, LoginFailure, Stop};
use haft_sandbox::{AddressGuard, ConfinedProgram, ExitKind, StartRefusal};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use super::{Reason, failed};
use crate::WorkingFolder;
use crate::argv_split;
use crate::failure::{OUT_OF_MEMORY, violation};
use crate::sandbox_opening::{SandboxOpening, looking};
use crate::web::form;

/// Timeout of a command.
const PATIENCE: Duration = Duration::from_secs(120);

/// Timeout of a command that a person types into.
const ATTENDED: Duration = Duration::from_secs(600);

/// Connects a person to the terminal of a program until it exits. Returns whether the person
/// cancelled.
pub type Attend<'a> = &'a (dyn Fn(OwnedFd) -> BoxFuture<'a, bool> + Send + Sync);

/// A login command of a driver.
pub struct Program<'a> {
    /// The driver's manifest, which limits what the command may access.
    pub manifest: &'a DriverManifest,
    /// The folder and sandbox that it runs in.
    pub place: &'a WorkingFolder,
}

impl Program<'_> {
    /// Runs a command and returns its exit code. It sees what the driver declares, may write the
    /// driver's login files, and reaches the driver's hosts.
    pub async fn run(&self, command: &str) -> Result<i32, Stop> {
        self.ended(command, self.confined(command)?, PATIENCE, std::future::pending()).await
    }

    /// Runs a command with a terminal of its own, which `attend` connects to a person.
    pub async fn run_attended(&self, command: &str, attend: Attend<'_>) -> Result<i32, Stop> {
        let (ours, theirs) = terminal().map_err(|fault| {
            failed(Reason::Upstream, format!("`{command}` gets no terminal: {fault}"))
        })?;
        let mut confined = self.confined(command)?;
        confined.terminal = Some(Arc::new(theirs));
        let kind = (self.place.variable)("TERM").unwrap_or_else(|| "dumb".to_owned());
        confined.env.entry("TERM".to_owned()).or_insert(kind);
        let called_off = async {
            if !attend(ours).await {
                // The program exits by itself, and its exit ends the wait.
                std::future::pending::<()>().await;
            }
        };
        self.ended(command, confined, ATTENDED, called_off).await
    }

    /// Whether the user is logged in, by the driver's own check.
    pub async fn completes(
        &self,
        check: &CompletesWhen,
        guard: &AddressGuard,
    ) -> Result<bool, Stop> {
        if let Some(command) = &check.cmd {
            return Ok(self.run(command).await? == check.exit_code);
        }
        match &check.http {
            Some(probe) => {
                let said = form::get(guard, &probe.url).await?;
                Ok(probe.expect_status.map_or(said.is_success(), |status| said.status == status))
            }
            None => Ok(true),
        }
    }

    fn confined(&self, command: &str) -> Result<ConfinedProgram, Stop> {
        let words = argv_split::split(command, self.place.variable);
        let words = words.map_err(|why| failed(Reason::Upstream, format!("`{command}`: {why}")))?;
        let mut words = words.into_iter();
        let program =
            words.next().ok_or_else(|| failed(Reason::Upstream, "the command is empty"))?;
        // No contract narrows a login: only the driver's own declarations apply.
        let opening =
            SandboxOpening::within(self.manifest, &looking(["*".to_owned()]), self.place)?;
        Ok(opening.confined(&program, words.collect(), self.place))
    }

    async fn ended(
        &self,
        command: &str,
        confined: ConfinedProgram,
        patience: Duration,
        called_off: impl Future<Output = ()>,
    ) -> Result<i32, Stop> {
        let ended = confined.run(&self.place.walls, Instant::now() + patience, called_off).await;
        let ended = ended.map_err(|refused: StartRefusal| match refused {
            StartRefusal::Violation(words) => violation(format!("`{command}`: {words}")),
            refused => {
                Stop::new(Code::SetupRequired, format!("`{command}` cannot be run: {refused}"))
            }
        })?;
        match ended.end {
            ExitKind::Exited(code) => Ok(code),
            ExitKind::Killed(signal) => {
                Err(failed(Reason::Upstream, format!("`{command}` was ended by signal {signal}")))
            }
            ExitKind::OutOfMemory => {
                Err(failed(Reason::Upstream, format!("`{command}` was ended: {OUT_OF_MEMORY}")))
            }
            ExitKind::CalledOff => {
                let stop = Stop::new(Code::CanceledCaller, "the login was called off");
                Err(stop.because(CauseDetail::Login(LoginFailure::UserCancelled)))
            }
            ExitKind::OutOfTime => {
                let words = format!("`{command}` took longer than {} seconds", patience.as_secs());
                Err(failed(Reason::Expired, words))
            }
        }
    }
}

/// Opens a pseudo-terminal: the person's end, and the program's end.
fn terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    Ok((ours, theirs))
}
