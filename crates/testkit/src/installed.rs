//! Third-party packages, installed once for all tests that need them.
//!
//! Tests are processes of their own, so the first one installs under a lock and the others wait.
//! Without npm, Python, apt or a registry the test fails: what was not tried is not known to work.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test whose packages cannot be installed has failed"
)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with the `node_modules` of some packages of npm, below a folder of the target's.
pub fn npm(folder: PathBuf, packages: &[&str]) -> PathBuf {
    once(folder, packages, |folder| {
        fs::write(folder.join("package.json"), "{\"private\": true}").unwrap();
        let options = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
        run(Command::new("npm").args(options).args(packages).current_dir(folder));
    })
}

/// An environment of Python with some packages of PyPI.
pub fn python(folder: PathBuf, packages: &[&str]) -> PathBuf {
    once(folder, packages, |folder| {
        // One without a pip of its own takes nothing but python3 and pip.
        run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(folder));
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "--python"]).arg(folder.join("bin/python"));
        run(pip.args(["install", "--quiet"]).args(packages));
    })
}

/// The programs and libraries of some packages of Debian, unpacked and not installed; what they need
/// beside them has to be among the packages or on the machine.
pub fn debian(folder: PathBuf, packages: &[&str]) -> PathBuf {
    once(folder, packages, |folder| {
        run(Command::new("apt-get").arg("download").args(packages).current_dir(folder));
        for file in fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
            if file.extension().is_some_and(|extension| extension == "deb") {
                run(Command::new("dpkg").arg("--extract").arg(&file).arg(folder));
                fs::remove_file(file).unwrap();
            }
        }
    })
}

/// Fills a folder, unless it holds these packages already.
fn once(folder: PathBuf, packages: &[&str], fill: impl FnOnce(&Path)) -> PathBuf {
    fs::create_dir_all(&folder).unwrap();
    let turn = File::create(folder.with_extension("lock")).unwrap();
    turn.lock().unwrap();
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).ok() != Some(packages.join("\n")) {
        fill(&folder);
        fs::write(mark, packages.join("\n")).unwrap();
    }
    fs::canonicalize(folder).unwrap()
}

/// Runs a command to its end; one that fails says what it printed.
fn run(command: &mut Command) {
    let ran = command.output().unwrap_or_else(|fault| {
        panic!("{command:?} cannot be started ({fault}): install Node.js, Python 3 with pip and Debian's apt")
    });
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
}
