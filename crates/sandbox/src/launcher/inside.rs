//! The inner process, first of its own world: it starts the program and outlives it by an instant.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use haft_model::Secret;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::FdFlags;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, pidfd_open, set_parent_process_death_signal,
    wait,
};

use super::{Orders, Report, doing, kernel, rights, syscalls, tree};
use crate::Spawn;

/// The folders in which a program that is named without one is looked for.
pub const PROGRAMS: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// How long an orphan may lie around before it is buried.
const BETWEEN_BURIALS: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Does the inner part and gives the exit code. When it returns, everything inside ends.
pub(super) fn run() -> i32 {
    let line = match rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) {
        Ok(line) => UnixStream::from(line),
        Err(_) => return 1,
    };
    match live(&line) {
        Ok(report) => {
            report.send(line.as_fd());
            0
        }
        Err(report) => {
            report.send(line.as_fd());
            1
        }
    }
}

fn live(line: &UnixStream) -> Result<Report, Report> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|fault| doing("it could not be tied to its parent")(fault.into()))?;
    let (orders, files) = Orders::receive(line).map_err(doing("the orders could not be read"))?;
    let mut layers = vec!["namespaces".to_owned()];
    layers.extend(tree::build(&orders)?);
    layers.extend(rights::give_up(&orders)?);
    layers.push(syscalls::filter()?);
    let mut program = start(&orders, files)?;
    Report::Inside(layers).send(line.as_fd());
    watch(&mut program, line).map_err(doing("the program was lost"))
}

fn start(orders: &Orders, files: Vec<OwnedFd>) -> Result<Child, Report> {
    let mut files = files.into_iter();
    let stdin = files.next().map_or_else(Stdio::null, Stdio::from);
    let mut command = Command::new(&orders.program);
    command.args(&orders.args).env_clear().envs(environment(&orders.env, "/tmp"));
    for (name, file) in orders.secret_env.iter().zip(&mut files) {
        command.env(name, content(&file).map_err(doing("a secret could not be read"))?.expose());
    }
    let mut open = Vec::new();
    for (name, file) in orders.handed.iter().zip(files) {
        let kept = rustix::io::fcntl_setfd(&file, FdFlags::empty());
        kept.map_err(|fault| doing("a secret could not be handed over")(fault.into()))?;
        command.env(name, format!("/proc/self/fd/{}", file.as_raw_fd()));
        open.push(file);
    }
    if orders.spawn == Spawn::Nothing {
        let filter = syscalls::childless()?;
        kernel::before(&mut command, move || {
            seccompiler::apply_filter(&filter).map_err(io::Error::other)
        });
    }
    command
        .current_dir(&orders.cwd)
        .process_group(0)
        .stdin(stdin)
        .spawn()
        .map_err(|fault| Report::NoProgram(unstartable(&orders.program, &fault)))
}

/// What a file in memory holds.
fn content(file: &OwnedFd) -> io::Result<Secret> {
    let size = rustix::fs::fstat(file)?.st_size;
    let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
    let mut from = 0;
    while let Some(rest) = bytes.get_mut(from..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(file, rest, from as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => from += read,
        }
    }
    String::from_utf8(bytes).map(Secret::new).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Waits for the program, buries orphans, and ends when the line does.
fn watch(program: &mut Child, line: &UnixStream) -> io::Result<Report> {
    let id = Pid::from_child(program);
    let ended = pidfd_open(id, PidfdFlags::empty())?;
    loop {
        let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        let mut files = [PollFd::new(line, gone), PollFd::new(&ended, PollFlags::IN)];
        match poll(&mut files, Some(&BETWEEN_BURIALS)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(fault) => return Err(fault.into()),
        }
        if files.first().is_some_and(|line| line.revents().intersects(gone)) {
            std::process::exit(1);
        }
        while let Ok(Some((who, status))) = wait(WaitOptions::NOHANG) {
            if who == id {
                return Ok(end_of(status));
            }
        }
    }
}

fn end_of(status: WaitStatus) -> Report {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Report::Exited(code),
        (None, signal) => Report::Killed(signal.unwrap_or_default()),
    }
}

/// The whole environment of a program: nothing of ours, and what was declared for it.
pub(crate) fn environment(
    declared: &BTreeMap<String, String>,
    home: &str,
) -> BTreeMap<String, String> {
    let always = [("PATH", PROGRAMS), ("LANG", "C.UTF-8"), ("HOME", home), ("TMPDIR", home)];
    let always = always.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let declared = declared.iter().map(|(name, value)| (name.clone(), value.clone()));
    always.into_iter().chain(declared).collect()
}

/// Why a program does not start, in words.
pub(crate) fn unstartable(program: &Path, fault: &io::Error) -> String {
    let name = program.display();
    match fault.kind() {
        io::ErrorKind::NotFound if program.exists() => {
            format!(
                "`{name}` cannot be started: the program that its first line names is not there"
            )
        }
        io::ErrorKind::NotFound => format!("`{name}` does not exist"),
        io::ErrorKind::PermissionDenied => {
            format!("`{name}` may not be run: make it executable with `chmod +x`")
        }
        _ => format!("`{name}` cannot be started: {fault}"),
    }
}
