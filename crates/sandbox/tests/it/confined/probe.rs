//! Probe: this test program, started inside, which tries what no shell can and prints the outcome.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use haft_sandbox::{Access, ConfinedProgram, Launcher, MountedPath, Walls};
use haft_testkit::Folder;
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount,
};
use rustix::net::{AddressFamily, Protocol, SocketType, socket};
use rustix::thread::UnshareFlags;

use crate::confined::{late, walls};

/// The variable that holds the attempt of a probe.
const ORDERS: &str = "HAFT_TEST_PROBE";

/// Not a test of its own: the entry point of the probe.
#[tokio::test]
async fn probe() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let orders: Vec<&str> = orders.split('|').collect();
    println!();
    match orders.as_slice() {
        ["tcp", address] => {
            let address: SocketAddr = address.parse().unwrap();
            tell(TcpStream::connect_timeout(&address, Duration::from_secs(5)).map(drop));
        }
        ["udp", address] => tell(
            UdpSocket::bind("127.0.0.1:0")
                .and_then(|socket| socket.send_to(b"out", address).map(drop)),
        ),
        ["unix", path] => tell(UnixStream::connect(path).map(drop)),
        ["proxy", words] => println!("heard: {}\nend of it", exchanged(words)),
        ["raw"] => tell(raw().map_err(into)),
        ["mount"] => tell(mount("none", "/tmp", "tmpfs", MountFlags::empty(), None).map_err(into)),
        ["unshare"] => tell(unshare(UnshareFlags::NEWUSER)),
        ["ptrace"] => tell(trace_the_first()),
        ["keys"] => tell(keys()),
        ["parent", mark] => {
            let folder = Folder::new();
            let family = crate::confined::ends::family(&folder, mark);
            let _ = family.run(&walls(), late(), std::future::pending()).await;
        }
        ["standby", launcher] => {
            let walls = Walls::By(Launcher::at(*launcher));
            let folder = Folder::new();
            let waits = crate::confined::script(&folder, "sleep 1000");
            let _ = waits.run(&walls, late(), std::future::pending()).await;
        }
        ["mounted"] => mounted().await,
        other => panic!("{other:?}"),
    }
}

/// Sends an escaped text to the proxy, and returns its answer.
fn exchanged(words: &str) -> String {
    let proxy = std::env::var("HTTP_PROXY").unwrap();
    let mut proxy = TcpStream::connect(proxy.strip_prefix("http://").unwrap()).unwrap();
    let words = words.replace("\\r", "\r").replace("\\n", "\n");
    let words = words.replace("\\x01", "\x01").replace("\\x02", "\x02");
    // A client that is refused early need not send the rest.
    let _ = proxy.write_all(words.as_bytes());
    let mut heard = Vec::new();
    let _ = proxy.read_to_end(&mut heard);
    crate::confined::text(&heard)
}

/// Prints the outcome of an attempt.
fn tell(outcome: io::Result<()>) {
    match outcome {
        Ok(()) => println!("said: done"),
        Err(fault) => println!("said: {}", fault.kind()),
    }
}

fn into(fault: Errno) -> io::Error {
    fault.into()
}

fn raw() -> Result<(), Errno> {
    let icmp = Protocol::from_raw(1.try_into().unwrap());
    socket(AddressFamily::INET, SocketType::RAW, Some(icmp)).map(drop)
}

#[expect(unsafe_code, reason = "leaving a namespace is what is tried")]
fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    // SAFETY: no files are unshared.
    Ok(unsafe { rustix::thread::unshare_unsafe(namespaces) }?)
}

/// Mounts a folder in a private namespace while a launcher stands by, and checks what a program
/// sees.
async fn mounted() {
    unshare(UnshareFlags::NEWNS).unwrap();
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
    let folder = Folder::new().file("place/other", "");
    let (place, walls) = (crate::confined::root(&folder).join("place"), walls());
    for when in ["before", "after"] {
        let look = crate::confined::script(&folder, "cd place && echo *");
        let ended = look.run(&walls, late(), std::future::pending()).await.unwrap();
        print!("{when}: {}", crate::confined::text(&ended.stdout));
        if when == "before" {
            mount("none", &place, "tmpfs", MountFlags::empty(), None).unwrap();
            std::fs::write(place.join("there"), "").unwrap();
        }
    }
    unmount(&place, UnmountFlags::DETACH).unwrap();
}

#[expect(unsafe_code, reason = "tracing is what is tried")]
fn trace_the_first() -> io::Result<()> {
    // SAFETY: to seize a process takes no memory of ours.
    answered(unsafe { libc::syscall(libc::SYS_ptrace, libc::PTRACE_SEIZE, 1, 0, 0) })
}

#[expect(unsafe_code, reason = "the keys of the kernel are what is tried for")]
fn keys() -> io::Result<()> {
    // SAFETY: to ask for the id of a keyring takes no memory of ours.
    answered(unsafe { libc::syscall(libc::SYS_keyctl, 0, -3, 0) })
}

fn answered(number: libc::c_long) -> io::Result<()> {
    if number == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The outcome of an attempt inside.
pub(crate) async fn inside(folder: &Folder, attempt: &str) -> String {
    found(&crate::confined::said(probing(folder, attempt)).await)
}

/// This program, as a confined probe.
pub(crate) fn probing(folder: &Folder, attempt: &str) -> ConfinedProgram {
    let program = std::env::current_exe().unwrap();
    let mut confined = ConfinedProgram {
        program: program.clone(),
        args: ARGUMENTS.map(str::to_owned).to_vec(),
        ..crate::confined::script(folder, "")
    };
    confined.env.insert(ORDERS.into(), attempt.into());
    confined.shown.push(MountedPath { path: program, access: Access::Read });
    confined
}

/// The outcome of the same attempt outside, so that a refusal inside proves something.
pub(crate) fn outside(attempt: &str) -> String {
    let ended = start(attempt).wait_with_output().unwrap();
    found(&crate::confined::text(&ended.stdout))
}

/// This program, as a probe.
pub(crate) fn start(attempt: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(ARGUMENTS)
        .env(ORDERS, attempt)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

const ARGUMENTS: [&str; 5] =
    ["--exact", "confined::probe::probe", "--nocapture", "--test-threads", "1"];

pub(crate) fn found(output: &str) -> String {
    let said = output.lines().find_map(|line| line.strip_prefix("said: "));
    said.unwrap_or(output).to_owned()
}
