//! How a process is started: by the launcher, or, where the workspace says so, without.

use std::future::Future;
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::gather::{Ends, Gathered, gather};
use super::{Confined, Refused, Walls};
use crate::Launcher;
use crate::launcher::{ENTRY, Orders, environment};

/// A process that is under way.
pub(super) struct Started<F> {
    pub(super) gathering: F,
    pub(super) stop: Stop,
}

/// What ends a process and everything that it started, at the latest when it is dropped.
pub(super) struct Stop(Option<How>);

enum How {
    /// The first process inside ends when the line to it does, and the kernel ends the others.
    Line(UnixStream),
    Group(Option<u32>),
}

impl Stop {
    pub(super) fn now(&mut self) {
        match self.0.take() {
            Some(How::Line(line)) => drop(line.shutdown(Shutdown::Both)),
            Some(How::Group(leader)) => end_group(leader),
            None => {}
        }
    }

    /// There is nothing left to end.
    pub(super) fn spent(&mut self) {
        self.0 = None;
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.now();
    }
}

/// Ends a process group; one that is gone is gone.
pub(super) fn end_group(leader: Option<u32>) {
    let leader = leader.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(leader) = leader {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

pub(super) fn start(
    confined: Confined,
    walls: &Walls,
) -> Result<Started<impl Future<Output = Result<Gathered, Refused>>>, Refused> {
    let (feed, taken) = pipe::pipe().map_err(broken)?;
    let taken = taken.into_blocking_fd().map_err(broken)?;
    let most = confined.bounds.output;
    let stdin = confined.stdin.clone();
    let (child, line) = match walls {
        Walls::Missing => return Err(Refused::NoLauncher),
        Walls::By(launcher) => launched(&confined, launcher, taken)?,
        Walls::Off => (unconfined(&confined, taken)?, None),
    };
    let stop = match &line {
        Some(line) => How::Line(line.try_clone().map_err(broken)?),
        None => How::Group(child.id()),
    };
    let control = line.map(asynchronous).transpose().map_err(broken)?;
    let ends = Ends { child, feed, stdin, control, most };
    Ok(Started { gathering: gather(ends), stop: Stop(Some(stop)) })
}

/// The launcher, with its orders waiting for it on the line.
fn launched(
    confined: &Confined,
    launcher: &Launcher,
    stdin: OwnedFd,
) -> Result<(Child, Option<UnixStream>), Refused> {
    let (ours, theirs) = UnixStream::pair().map_err(broken)?;
    Orders::of(confined).send(&ours, &stdin).map_err(broken)?;
    let child = listened(Command::new(launcher.path()).arg(ENTRY).env_clear())
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .map_err(|fault| Refused::Broken(format!("`{}`: {fault}", launcher.path().display())))?;
    Ok((child, Some(ours)))
}

fn unconfined(confined: &Confined, stdin: OwnedFd) -> Result<Child, Refused> {
    let mut command = Command::new(&confined.program);
    command.args(&confined.args).env_clear().envs(environment(&confined.env, "/tmp"));
    listened(command.current_dir(&confined.cwd).process_group(0))
        .stdin(Stdio::from(stdin))
        .spawn()
        .map_err(|fault| Refused::Program(crate::launcher::unstartable(&confined.program, &fault)))
}

fn listened(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true)
}

fn asynchronous(line: UnixStream) -> io::Result<tokio::net::UnixStream> {
    line.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(line)
}

fn broken(fault: io::Error) -> Refused {
    Refused::Broken(fault.to_string())
}
