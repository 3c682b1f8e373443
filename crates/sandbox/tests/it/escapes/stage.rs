//! Escape targets: files inside and outside the sandbox, hosts to reach, processes to kill.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::process::{Child, Command};

use haft_sandbox::{
    Access, AddressGuard, Bounds, ConfinedProgram, Gate, MountedPath, NetworkAccess,
};
use haft_testkit::Folder;

use crate::escapes::probe;
use crate::escapes::rows::{By, Row};

pub(crate) struct Stage {
    folder: Folder,
    /// An unrelated process outside.
    victim: std::cell::RefCell<Child>,
    /// A word in the arguments of every process that the row leaves behind.
    mark: String,
    listed: u16,
    other: u16,
    udp: UdpSocket,
    abstracted: String,
    _sockets: [UnixListener; 2],
    /// A descriptor that was not closed before other processes were started.
    leaked: OwnedFd,
    segment: probe::Segment,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let folder = Folder::new()
            .file("work/closed/file", "old")
            .file("work/open/file", "old")
            .file("work/.haft/key", "secret")
            .file("outside/secret", "secret")
            .file("outside/home/.ssh/id", "secret");
        let root = fs::canonicalize(folder.path()).unwrap();
        std::os::unix::fs::symlink(root.join("outside"), root.join("work/way")).unwrap();
        let victim = Command::new("sleep").arg("300").spawn().unwrap();
        let mark = format!("mark-{}", victim.id());
        let abstracted = format!("haft-{mark}");
        let address = SocketAddr::from_abstract_name(&abstracted).unwrap();
        let sockets = [
            UnixListener::bind(root.join("work/socket")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
        ];
        let other = host(None);
        let leaked = OwnedFd::from(fs::File::open(root.join("outside/secret")).unwrap());
        rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let segment = probe::Segment::new(victim.id().cast_signed());
        let victim = victim.into();
        let listed = host(Some(other));
        Stage {
            folder,
            victim,
            mark,
            listed,
            other,
            udp,
            abstracted,
            _sockets: sockets,
            leaked,
            segment,
        }
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    /// A row, with the values of the stage filled in.
    fn filled(&self, text: &str) -> String {
        let known = [
            ("{out}", self.root().join("outside").display().to_string()),
            ("{work}", self.root().join("work").display().to_string()),
            ("{victim}", self.victim.borrow().id().to_string()),
            ("{mark}", self.mark.clone()),
            ("{listed}", self.listed.to_string()),
            ("{other}", self.other.to_string()),
            ("{udp}", self.udp.local_addr().unwrap().to_string()),
            ("{abstract}", self.abstracted.clone()),
            ("{segment}", self.segment.number.to_string()),
            ("{leaked}", self.leaked.as_raw_fd().to_string()),
        ];
        known.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    pub(crate) fn confined(&self, row: &Row) -> ConfinedProgram {
        let work = self.root().join("work");
        let mut confined = ConfinedProgram {
            program: "/bin/sh".into(),
            shown: vec![
                MountedPath { path: work.clone(), access: Access::Read },
                MountedPath { path: work.join("open"), access: Access::Write },
            ],
            hidden: vec![work.join(".haft")],
            cwd: work,
            bounds: Bounds {
                cpu_seconds: 1,
                memory: 192 << 20,
                files: 64,
                processes: 310,
                file_size: 8 << 20,
                ..Bounds::default()
            },
            ..ConfinedProgram::default()
        };
        match row.by {
            By::Sh(condition) => {
                let condition = self.filled(condition);
                let script = format!(
                    "if ({condition}) >/dev/null 2>&1; then echo escaped; else echo held; fi"
                );
                confined.args = vec!["-c".into(), script];
            }
            By::Stays(script) => confined.args = vec!["-c".into(), self.filled(script)],
            By::Probe(attempt) => probe::set_up(&mut confined, &self.filled(attempt)),
            By::Gated(attempt) => {
                let hosts = vec![format!("127.0.0.1:{}", self.listed)];
                confined.network = NetworkAccess::Through(Gate::new(hosts, AddressGuard::public()));
                probe::set_up(&mut confined, &self.filled(attempt));
            }
        }
        confined
    }

    /// Whether a process of the row is still there; if so, it is killed.
    pub(crate) fn left(&self) -> bool {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let marked = processes.filter(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&self.mark)
        });
        let marked: Vec<_> = marked
            .filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
            .filter_map(rustix::process::Pid::from_raw)
            .collect();
        for process in &marked {
            let _ = rustix::process::kill_process(*process, rustix::process::Signal::KILL);
        }
        !marked.is_empty()
    }

    /// What has changed on the machine, if anything.
    pub(crate) fn harmed(&self) -> Option<String> {
        let kept = [
            ("work/closed/file", "old"),
            ("work/.haft/key", "secret"),
            ("outside/secret", "secret"),
            ("outside/home/.ssh/id", "secret"),
        ];
        let work = self.root().join("work");
        let changed = kept.iter().find(|(path, text)| {
            fs::read_to_string(self.root().join(path)).ok().as_deref() != Some(*text)
        });
        if let Some((path, _)) = changed {
            return Some(format!("{path} was changed"));
        }
        let mut names: Vec<_> = fs::read_dir(&work).unwrap().flatten().collect();
        names.extend(fs::read_dir(work.join("closed")).unwrap().flatten());
        names.extend(fs::read_dir(self.root().join("outside")).unwrap().flatten());
        if names.len() != 5 + 1 + 2 {
            return Some(format!("there are {} files", names.len()));
        }
        let gone = self.victim.borrow_mut().try_wait().unwrap();
        gone.map(|status| format!("the process outside ended: {status}"))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let mut victim = self.victim.borrow_mut();
        let _ = victim.kill();
        let _ = victim.wait();
    }
}

/// A host that answers `hello`, or redirects to another.
fn host(next: Option<u16>) -> u16 {
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = door.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for connection in door.incoming() {
            let Ok(mut connection) = connection else { continue };
            let Ok(read) = connection.try_clone() else { continue };
            let _ = BufReader::new(read).read_line(&mut String::new());
            let answer = match next {
                Some(next) => format!(
                    "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{next}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                ),
                None => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
                    .to_owned(),
            };
            let _ = connection.write_all(answer.as_bytes());
        }
    });
    port
}
