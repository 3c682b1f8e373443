//! Keyring session of one test: a message bus with a real gnome-keyring on it.

#![expect(clippy::unwrap_used, reason = "a session that cannot be started fails the test")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::{Folder, installed};

/// The packages of the session, beside libraries that every Debian with GLib has.
const PACKAGES: &[&str] = &[
    "dbus-bin",
    "dbus-daemon",
    "gnome-keyring",
    "libcap-ng0",
    "libdbus-1-3",
    "libgck-1-0",
    "libgcr-base-3-1",
    "libp11-kit0",
    "libsecret-1-0",
    "libsecret-tools",
];

/// A bus that starts nothing by itself, so that a keyring is there only where a test wants one.
const BUS: &str = r#"<busconfig><type>session</type><listen>unix:dir=FOLDER</listen>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>
</busconfig>"#;

/// A session and its keyring. Both end with it.
pub struct Keyring {
    packages: PathBuf,
    home: Folder,
    address: String,
    bus: Child,
    keyring: Option<Child>,
}

impl Keyring {
    /// A session with an unlocked keyring; what it is made of is installed below a folder.
    pub fn unlocked(installed: PathBuf) -> Keyring {
        let mut session = Keyring::absent(installed);
        let mut daemon = session.command("gnome-keyring-daemon");
        daemon.args(["--unlock", "--foreground", "--components=secrets"]);
        let mut daemon = daemon.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        daemon.stdin.take().unwrap().write_all(b"a password").unwrap();
        session.keyring = Some(daemon);
        let until = Instant::now() + Duration::from_secs(20);
        while !session.say("ReadAlias", "string:default").status.success() {
            assert!(Instant::now() < until, "the keyring did not start");
            std::thread::yield_now();
        }
        session
    }

    /// A session without a keyring.
    pub fn absent(installed: PathBuf) -> Keyring {
        let packages = installed::debian(installed, PACKAGES);
        let home = Folder::new();
        let config = home.path().join("bus.conf");
        fs::write(&config, BUS.replace("FOLDER", &home.path().display().to_string())).unwrap();
        let mut bus = program(&packages, "dbus-daemon");
        bus.args(["--nofork", "--print-address=1"]).arg("--config-file").arg(config);
        let mut bus = bus.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Keyring { packages, home, address: address.trim().to_owned(), bus, keyring: None }
    }

    /// The address of the session's bus.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Locks the keyring, as a desktop does when its person leaves.
    pub fn lock(&self) {
        let login = "array:objpath:/org/freedesktop/secrets/collection/login";
        assert!(self.say("Lock", login).status.success());
    }

    /// Keeps a value by another program than ours.
    pub fn store(&self, attributes: &[&str], value: &str) {
        let mut tool = self.command("secret-tool");
        tool.args(["store", "--label=made by a test"]).args(attributes);
        let mut tool = tool.stdin(Stdio::piped()).spawn().unwrap();
        tool.stdin.take().unwrap().write_all(value.as_bytes()).unwrap();
        assert!(tool.wait().unwrap().success());
    }

    /// The value that another program than ours finds.
    pub fn lookup(&self, attributes: &[&str]) -> String {
        let found = self.command("secret-tool").arg("lookup").args(attributes).output().unwrap();
        String::from_utf8(found.stdout).unwrap()
    }

    fn say(&self, method: &str, argument: &str) -> Output {
        let mut send = self.command("dbus-send");
        send.args(["--session", "--print-reply", "--dest=org.freedesktop.secrets"]);
        send.arg("/org/freedesktop/secrets");
        send.arg(format!("org.freedesktop.Secret.Service.{method}")).arg(argument);
        send.output().unwrap()
    }

    fn command(&self, name: &str) -> Command {
        let mut command = program(&self.packages, name);
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.address);
        for variable in ["HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"] {
            command.env(variable, self.home.path());
        }
        command
    }
}

impl Drop for Keyring {
    fn drop(&mut self) {
        for child in self.keyring.iter_mut().chain([&mut self.bus]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A program of the unpacked packages, which finds its libraries there.
fn program(packages: &Path, name: &str) -> Command {
    let mut command = Command::new(packages.join("usr/bin").join(name));
    let machine = format!("{}-linux-gnu", std::env::consts::ARCH);
    let below = |top: &str| packages.join(top).join(&machine).display().to_string();
    command.env("LD_LIBRARY_PATH", format!("{}:{}", below("usr/lib"), below("lib")));
    command
}
