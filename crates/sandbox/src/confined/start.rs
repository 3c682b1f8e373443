//! Process start: through the launcher, or directly where the workspace turns the sandbox off.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::line::Listening;
use super::running::{How, Process, ProgramOutput, Rest, Running, Stop};
use super::secrets::sealed;
use super::{Access, ConfinedProgram, StartRefusal, Walls};
use crate::Launcher;
use crate::group::{Entrance, Group};
use crate::launcher::{LauncherInputs, Orders, environment, wrapped};

/// The program's ends of its pipes.
struct Theirs {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Theirs {
    fn at(terminal: &OwnedFd) -> io::Result<Theirs> {
        let (stdin, stdout) = (terminal.try_clone()?, terminal.try_clone()?);
        Ok(Theirs { stdin, stdout, stderr: terminal.try_clone()? })
    }
}

impl ConfinedProgram {
    /// Starts the program and returns its pipes, for a caller that reads while it runs.
    /// [`Running::ended`] reports a failed start. Needs a Tokio runtime.
    pub fn start(self, walls: &Walls) -> Result<Running, StartRefusal> {
        let is_written = self.shown.iter().any(|shown| shown.access == Access::Write);
        if self.protection.is_some() && is_written && !matches!(walls, Walls::Off) {
            return Err(StartRefusal::Unenforced("what governs is not protected yet".to_owned()));
        }
        let (feed, stdin) = pipe::pipe().map_err(broken)?;
        let stdin = stdin.into_blocking_fd().map_err(broken)?;
        let ((stdout, out), (stderr, err)) = (mouth()?, mouth()?);
        let theirs = match &self.terminal {
            Some(terminal) => Theirs::at(terminal).map_err(broken)?,
            None => Theirs { stdin, stdout, stderr },
        };
        let (rest, how) = match walls {
            Walls::Missing => return Err(StartRefusal::NoLauncher),
            Walls::By(launcher) => launched(&self, LauncherChannel::By(launcher), theirs)?,
            Walls::Bubblewrap(program, launcher) => launched(
                &self,
                LauncherChannel::Of(wrapped(&self, program, launcher)?.into()),
                theirs,
            )?,
            Walls::Off => unconfined(&self, theirs)?,
        };
        let (stdout, stderr) = (ProgramOutput(Some(out)), ProgramOutput(Some(err)));
        Ok(Running { stdin: Some(feed), stdout, stderr, stop: Stop::by(how), rest })
    }
}

/// A pipe for an output: the program's end and ours.
fn mouth() -> Result<(OwnedFd, pipe::Receiver), StartRefusal> {
    let (theirs, ours) = pipe::pipe().map_err(broken)?;
    Ok((theirs.into_blocking_fd().map_err(broken)?, ours))
}

/// How orders reach a launcher.
enum LauncherChannel<'a> {
    /// Through the standby launcher.
    By(&'a Launcher),
    /// Through a launcher that is started for them.
    Of(Command),
}

/// A launcher, with its orders waiting on the channel.
fn launched(
    confined: &ConfinedProgram,
    way: LauncherChannel<'_>,
    theirs: Theirs,
) -> Result<(Rest, How), StartRefusal> {
    let Theirs { stdin, stdout, stderr } = theirs;
    let (ours, line) = UnixStream::pair().map_err(broken)?;
    let line = OwnedFd::from(line);
    let secrets = confined.secret_env.values();
    let secrets = secrets.chain(confined.handed.iter().map(|handed| &handed.value));
    let (group, entrance) = Group::new(confined.bounds.total_memory).unzip();
    let grouped = entrance.is_some();
    let own =
        entrance.into_iter().flat_map(|Entrance { join, leave, events }| [join, leave, events]);
    let own = std::iter::once(stdin).chain(own).map(Ok);
    let files: io::Result<Vec<_>> = own.chain(secrets.map(sealed)).collect();
    Orders::of(confined, grouped).send(&ours, &files.map_err(broken)?).map_err(broken)?;
    let unusable =
        |program: &Path, fault| StartRefusal::Broken(format!("`{}`: {fault}", program.display()));
    let process = match way {
        LauncherChannel::By(launcher) => {
            let standby = launcher.take(&LauncherInputs { line, stdout, stderr });
            Process::Inside { _by: standby.map_err(|fault| unusable(launcher.path(), fault))? }
        }
        LauncherChannel::Of(mut command) => {
            let program = PathBuf::from(command.as_std().get_program());
            let child = spawned(command.env_clear().stdin(line), stdout, stderr);
            Process::Child(child.map_err(|fault| unusable(&program, fault))?)
        }
    };
    let how = How::Line(ours.try_clone().map_err(broken)?);
    let listening = Listening::to(ours, confined.network.clone()).map_err(broken)?;
    Ok((Rest::new(process, Some(listening), Vec::new()).within(group), how))
}

fn unconfined(confined: &ConfinedProgram, theirs: Theirs) -> Result<(Rest, How), StartRefusal> {
    let Theirs { stdin, stdout, stderr } = theirs;
    let mut held = Vec::new();
    let mut handed = BTreeMap::new();
    for file in &confined.handed {
        let sealed = sealed(&file.value).map_err(broken)?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), sealed.as_raw_fd());
        handed.insert(&file.name, path);
        held.push(sealed);
    }
    let secrets = confined.secret_env.iter().map(|(name, secret)| (name, secret.expose()));
    let mut command = Command::new(&confined.program);
    if let Some(called) = &confined.called {
        command.arg0(called);
    }
    command.args(&confined.args).env_clear().envs(environment(&confined.env, "/tmp"));
    command.envs(secrets).envs(handed).stdin(Stdio::from(stdin));
    let child = spawned(command.current_dir(&confined.cwd).process_group(0), stdout, stderr)
        .map_err(|fault| {
            StartRefusal::Program(crate::launcher::unstartable(&confined.program, &fault))
        })?;
    let how = How::Group(child.id());
    Ok((Rest::new(Process::Child(child), None, held), how))
}

fn spawned(command: &mut Command, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<Child> {
    command.stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr)).kill_on_drop(true).spawn()
}

pub(super) fn broken(fault: io::Error) -> StartRefusal {
    StartRefusal::Broken(fault.to_string())
}
