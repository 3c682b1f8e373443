//! Init process of the sandbox: PID 1 of the namespaces, which starts the program and reaps
//! orphans.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use haft_model::Secret;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::FdFlags;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, pidfd_open,
    set_parent_process_death_signal, wait,
};

use super::entered::CgroupFiles;
use super::syscalls::Door;
use super::tries::Tries;
use super::{Orders, Report, bubblewrap, doing, kernel, rights, syscalls, tree};
use crate::Spawn;

/// The search path for a program that is named without a folder.
pub const PROGRAMS: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// Interval between two reaps of orphans.
const BETWEEN_BURIALS: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Which program created the namespaces and the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builder {
    /// The launcher.
    Us,
    /// bubblewrap.
    Bubblewrap,
}

/// Runs the init process and returns the exit code. When it returns, everything inside ends.
pub(super) fn run(builder: Builder, made: Result<(), Report>) -> i32 {
    let line = match rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) {
        Ok(line) => UnixStream::from(line),
        Err(_) => return 1,
    };
    match made.and_then(|()| live(&line, builder)) {
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

/// Ties this process to its parent: it is killed when the parent exits.
pub(super) fn tied() -> Result<(), Report> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|fault| doing("it could not be tied to its parent")(fault.into()))
}

fn live(line: &UnixStream, builder: Builder) -> Result<Report, Report> {
    if builder == Builder::Us {
        introduced(line).map_err(doing("it could not be told who it is"))?;
    }
    let (orders, files) = Orders::receive(line).map_err(doing("the orders could not be read"))?;
    let door = door(&orders, line, builder).map_err(doing("the gate could not be opened"))?;
    let mut layers = match builder {
        Builder::Us => tree::build(&orders)?,
        Builder::Bubblewrap => bubblewrap::built()?,
    };
    layers.extend(rights::give_up(&orders, door)?);
    layers.push(syscalls::filter(door)?);
    let mut tried = Tries::of(&orders);
    if is_over(line) {
        return Ok(Report::Killed(libc::SIGKILL));
    }
    let mut files = files.into_iter();
    let stdin = files.next();
    let group = CgroupFiles::of(&orders, &mut files)?;
    if let Some(group) = &group {
        group.join().map_err(doing("it could not be put into its memory group"))?;
        layers.push("memory group".to_owned());
    }
    let mut program = start(&orders, stdin, files, door)?;
    group.iter().for_each(CgroupFiles::leave);
    Report::Inside(layers).send(line.as_fd());
    watch(&mut program, line, &mut tried, group.as_ref()).map_err(doing("the program was lost"))
}

/// Hands over a pidfd of this process.
fn introduced(line: &UnixStream) -> io::Result<()> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    Report::First.send_with(line.as_fd(), own.as_fd())
}

/// Binds the gate's listener, which only processes inside can reach, and hands it over.
fn door(orders: &Orders, line: &UnixStream, builder: Builder) -> io::Result<Door> {
    if !orders.gated {
        return Ok(Door::None);
    }
    if builder == Builder::Us {
        kernel::raise_loopback()?;
    }
    let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Report::Door.send_with(line.as_fd(), door.as_fd())?;
    Ok(Door::At(door.local_addr()?.port()))
}

fn start(
    orders: &Orders,
    stdin: Option<OwnedFd>,
    mut files: impl Iterator<Item = OwnedFd>,
    door: Door,
) -> Result<Child, Report> {
    let stdin = stdin.map_or_else(Stdio::null, Stdio::from);
    let mut command = Command::new(&orders.program);
    if let Some(called) = &orders.called {
        command.arg0(called);
    }
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
    if let Door::At(port) = door {
        command.envs(proxy(port));
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

/// The content of a memory file.
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

/// Waits for the program, reaps orphans, and exits when the channel closes.
fn watch(
    program: &mut Child,
    line: &UnixStream,
    tries: &mut Tries,
    group: Option<&CgroupFiles>,
) -> io::Result<Report> {
    let id = Pid::from_child(program);
    let ended = pidfd_open(id, PidfdFlags::empty())?;
    loop {
        let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        let mut files = vec![PollFd::new(line, gone), PollFd::new(&ended, PollFlags::IN)];
        files.extend(tries.asked().map(|asked| PollFd::from_borrowed_fd(asked, PollFlags::IN)));
        match poll(&mut files, Some(&BETWEEN_BURIALS)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(fault) => return Err(fault.into()),
        }
        let happened =
            |place: usize| files.get(place).is_some_and(|file| !file.revents().is_empty());
        if happened(0) {
            empty();
            std::process::exit(1);
        }
        if happened(2) {
            if let Some(tried) = tries.look() {
                tried.send(line.as_fd());
            }
            continue;
        }
        let mut last = None;
        while let Ok(Some((who, status))) = wait(WaitOptions::NOHANG) {
            if who == id {
                last = Some(status);
                break;
            }
        }
        let exceeded = group.is_some_and(CgroupFiles::is_exceeded);
        if exceeded || last.is_some() {
            empty();
        }
        match last {
            _ if exceeded => return Ok(Report::OutOfMemory),
            Some(status) => return Ok(end_of(status)),
            None => {}
        }
    }
}

/// Whether the caller closed the channel.
fn is_over(line: &UnixStream) -> bool {
    let mut line = [PollFd::new(line, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut line, Some(&now)).is_ok_and(|happened| happened > 0)
}

/// Kills everything else inside, so that nothing is left when the channel reports the exit. The
/// kernel would do it as well, but does not tell when.
fn empty() {
    // A process that is not PID 1 of its namespace would kill every process outside.
    if getpid() != Pid::INIT || kill_process_group(Pid::INIT, Signal::KILL).is_err() {
        return;
    }
    while wait(WaitOptions::empty()).is_ok() {}
}

fn end_of(status: WaitStatus) -> Report {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Report::Exited(code),
        (None, signal) => Report::Killed(signal.unwrap_or_default()),
    }
}

/// The whole environment of a program: nothing of ours, only what was declared for it.
pub(crate) fn environment(
    declared: &BTreeMap<String, String>,
    home: &str,
) -> BTreeMap<String, String> {
    let always = [("PATH", PROGRAMS), ("LANG", "C.UTF-8"), ("HOME", home), ("TMPDIR", home)];
    let always = always.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let declared = declared.iter().map(|(name, value)| (name.clone(), value.clone()));
    always.into_iter().chain(declared).collect()
}

/// The proxy variables. `NO_PROXY` is empty, so that no host is an exception.
fn proxy(port: u16) -> Vec<(&'static str, String)> {
    let names =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let mut variables: Vec<_> =
        names.into_iter().map(|name| (name, format!("http://127.0.0.1:{port}"))).collect();
    variables.extend([("NO_PROXY", String::new()), ("no_proxy", String::new())]);
    // Node reads the variables only when told to.
    variables.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
    variables
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
