//! Probe: this test program, started inside, which tries what no shell can and prints the outcome.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

use haft_sandbox::{Access, ConfinedProgram, MountedPath};
use libc::c_long;

/// The variable that holds the attempt of a probe.
const ORDERS: &str = "HAFT_TEST_PROBE";

/// Turns a confined program into a probe with this attempt.
pub(crate) fn set_up(confined: &mut ConfinedProgram, attempt: &str) {
    confined.program = std::env::current_exe().unwrap();
    let words = ["--exact", "escapes::probe::probe", "--nocapture", "--test-threads", "1"];
    confined.args = words.map(str::to_owned).to_vec();
    confined.env.insert(ORDERS.into(), attempt.into());
    confined.shown.push(MountedPath { path: confined.program.clone(), access: Access::Read });
}

/// Not a test of its own: the entry point of the probe.
#[test]
fn probe() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let orders: Vec<&str> = orders.split('|').collect();
    let word =
        match orders.as_slice() {
            ["call", name] => called(name),
            ["socket", family, kind] => socket(family.parse().unwrap(), kind.parse().unwrap()),
            ["segment", number] => Segment::found(number.parse().unwrap()),
            ["tcp", address] => met(TcpStream::connect(address)),
            ["bind"] => met(TcpListener::bind("127.0.0.1:0")),
            ["udp", address] => met(sent(address)),
            ["unix", path] => met(UnixStream::connect(path)),
            ["abstract", name] => met(SocketAddr::from_abstract_name(name)
                .and_then(|name| UnixStream::connect_addr(&name))),
            ["reach", place] => said_hello(&got(place)),
            ["follow", place] => said_hello(&followed(place)),
            ["proxy", words] => said_hello(&told_proxy(words)),
            other => panic!("{other:?}"),
        };
    println!("\n{word}");
}

fn met<T>(outcome: io::Result<T>) -> &'static str {
    if outcome.is_ok() { "escaped" } else { "held" }
}

/// A call that reached the kernel has escaped, whatever it returned.
fn judged(outcome: c_long) -> &'static str {
    let fault = io::Error::last_os_error().raw_os_error();
    match fault.filter(|_| outcome == -1) {
        Some(libc::ENOSYS) if std::env::var_os("HAFT_TEST_LEAK").is_some() => "absent",
        Some(libc::ENOSYS | libc::EPERM | libc::EACCES) => "held",
        _ => "escaped",
    }
}

fn sent(address: &str) -> io::Result<()> {
    // A DNS query, more or less.
    UdpSocket::bind("127.0.0.1:0")?.send_to(b"\0\x01secret.example", address).map(drop)
}

#[expect(unsafe_code, reason = "sockets that no library makes are what is tried")]
fn socket(family: i32, kind: i32) -> &'static str {
    // SAFETY: the call takes three numbers.
    judged(unsafe { libc::syscall(libc::SYS_socket, family, kind, 0) })
}

/// System V shared memory, which any process of this machine finds by its key.
pub(crate) struct Segment {
    pub(crate) number: i32,
    id: i32,
}

#[expect(unsafe_code, reason = "memory that is shared by a number is what is tried")]
impl Segment {
    pub(crate) fn new(number: i32) -> Segment {
        // SAFETY: the call takes three numbers.
        let id = unsafe { libc::shmget(number, 4096, libc::IPC_CREAT | 0o600) };
        assert!(id >= 0, "{}", io::Error::last_os_error());
        Segment { number, id }
    }

    fn found(number: i32) -> &'static str {
        // SAFETY: the call takes three numbers.
        let id = unsafe { libc::shmget(number, 0, 0) };
        if id >= 0 { "escaped" } else { "held" }
    }
}

#[expect(unsafe_code, reason = "what was made has to be taken away")]
impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the segment is ours, and no process has it mapped.
        unsafe { libc::shmctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// A system call, with arguments that do no harm where it is allowed.
#[expect(unsafe_code, reason = "system calls are what is tried")]
fn called(name: &str) -> &'static str {
    let (number, [a, b, c, d, e]) = call(name);
    // SAFETY: every argument is a number, a text that ends in a zero, or no address at all.
    let outcome = unsafe { libc::syscall(number, a, b, c, d, e) };
    if outcome == 0 && name.starts_with("clone") {
        // SAFETY: this is the new process, which has nothing to put in order.
        unsafe { libc::_exit(0) };
    }
    judged(outcome)
}

#[rustfmt::skip]
fn call(name: &str) -> (c_long, [c_long; 5]) {
    let nowhere = c"/no/such/place".as_ptr() as c_long;
    let here = c"/tmp".as_ptr() as c_long;
    let tmpfs = c"tmpfs".as_ptr() as c_long;
    let parent = c_long::from(std::os::unix::process::parent_id());
    let user = c_long::from(libc::CLONE_NEWUSER);
    let mounts = c_long::from(libc::CLONE_NEWNS);
    match name {
        "mount" => (libc::SYS_mount, [nowhere, nowhere, tmpfs, 0, 0]),
        "umount" => (libc::SYS_umount2, [nowhere, 0, 0, 0, 0]),
        "fsopen" => (libc::SYS_fsopen, [tmpfs, 0, 0, 0, 0]),
        "open_tree" => (libc::SYS_open_tree, [c_long::from(libc::AT_FDCWD), here, 1, 0, 0]),
        "move_mount" => (libc::SYS_move_mount, [-1, nowhere, -1, nowhere, 0]),
        "mount_setattr" => (libc::SYS_mount_setattr, [-1, nowhere, 0, 0, 0]),
        "pivot_root" => (libc::SYS_pivot_root, [nowhere, nowhere, 0, 0, 0]),
        "chroot" => (libc::SYS_chroot, [here, 0, 0, 0, 0]),
        "unshare" => (libc::SYS_unshare, [mounts, 0, 0, 0, 0]),
        "unshare user" => (libc::SYS_unshare, [user, 0, 0, 0, 0]),
        "setns" => (libc::SYS_setns, [-1, 0, 0, 0, 0]),
        "clone user" => (libc::SYS_clone, [user | c_long::from(libc::SIGCHLD), 0, 0, 0, 0]),
        "clone3" => (libc::SYS_clone3, [0, 0, 0, 0, 0]),
        "bpf" => (libc::SYS_bpf, [0, 0, 0, 0, 0]),
        "perf" => (libc::SYS_perf_event_open, [0, 0, -1, -1, 0]),
        "keyctl" => (libc::SYS_keyctl, [0, -3, 0, 0, 0]),
        "add_key" => (libc::SYS_add_key, [0, 0, 0, 0, -3]),
        "request_key" => (libc::SYS_request_key, [0, 0, 0, 0, 0]),
        "io_uring" => (libc::SYS_io_uring_setup, [0, 0, 0, 0, 0]),
        "kexec" => (libc::SYS_kexec_load, [0, 0, 0, 0xffff, 0]),
        "init_module" => (libc::SYS_init_module, [0, 0, nowhere, 0, 0]),
        "finit_module" => (libc::SYS_finit_module, [-1, nowhere, 0, 0, 0]),
        "delete_module" => (libc::SYS_delete_module, [nowhere, 0, 0, 0, 0]),
        "reboot" => (libc::SYS_reboot, [0, 0, 0, 0, 0]),
        "settimeofday" => (libc::SYS_settimeofday, [0, 0, 0, 0, 0]),
        "clock_settime" => (libc::SYS_clock_settime, [0, 0, 0, 0, 0]),
        "swapon" => (libc::SYS_swapon, [nowhere, 0, 0, 0, 0]),
        "syslog" => (libc::SYS_syslog, [10, 0, 0, 0, 0]),
        "open_by_handle_at" => (libc::SYS_open_by_handle_at, [-1, 0, 0, 0, 0]),
        "name_to_handle_at" => (libc::SYS_name_to_handle_at, [-1, 0, 0, 0, 0]),
        "userfaultfd" => (libc::SYS_userfaultfd, [0, 0, 0, 0, 0]),
        "fanotify" => (libc::SYS_fanotify_init, [0, 0, 0, 0, 0]),
        "personality" => (libc::SYS_personality, [0x004_0000, 0, 0, 0, 0]),
        "ptrace" => (libc::SYS_ptrace, [c_long::from(libc::PTRACE_SEIZE), parent, 0, 0, 0]),
        "process_vm_readv" => (libc::SYS_process_vm_readv, [parent, 0, 0, 0, 0]),
        "process_vm_writev" => (libc::SYS_process_vm_writev, [parent, 0, 0, 0, 0]),
        "pidfd_getfd" => (libc::SYS_pidfd_getfd, [-1, 0, 0, 0, 0]),
        "kcmp" => (libc::SYS_kcmp, [parent, parent, 0, 0, 0]),
        "tiocsti" => (libc::SYS_ioctl, [0, libc::TIOCSTI.cast_signed(), nowhere, 0, 0]),
        other => panic!("{other}"),
    }
}

fn said_hello(heard: &str) -> &'static str {
    if heard.ends_with("hello") { "escaped" } else { "held" }
}

/// The response of a host, through the gate if there is one.
fn got(place: &str) -> String {
    let request = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: {place}\r\n\r\n");
    match std::env::var("HTTP_PROXY") {
        Ok(_) => told_proxy(&request(&format!("http://{place}/"))),
        Err(_) => {
            let found = place.to_socket_addrs().unwrap().next().unwrap();
            exchanged(TcpStream::connect(found).unwrap(), &request("/"))
        }
    }
}

/// The response of the host that another one redirects to.
fn followed(place: &str) -> String {
    let first = got(place);
    let next = first.lines().find_map(|line| line.strip_prefix("Location: http://"));
    got(next.unwrap().trim_end_matches('/'))
}

fn told_proxy(words: &str) -> String {
    let proxy = std::env::var("HTTP_PROXY").unwrap();
    let proxy = TcpStream::connect(proxy.strip_prefix("http://").unwrap()).unwrap();
    exchanged(proxy, &words.replace("\\r\\n", "\r\n"))
}

fn exchanged(mut with: TcpStream, words: &str) -> String {
    with.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let _ = with.write_all(words.as_bytes());
    let mut heard = Vec::new();
    let _ = with.read_to_end(&mut heard);
    String::from_utf8_lossy(&heard).into_owned()
}
