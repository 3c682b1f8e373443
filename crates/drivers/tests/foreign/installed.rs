//! Servers of other people, installed once for all tests.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

const NPM: [&str; 3] = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
];

const PYPI: [&str; 2] = ["mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19"];

/// The folder with `node_modules`.
pub(crate) fn npm() -> PathBuf {
    once("npm", |folder| {
        fs::write(folder.join("package.json"), "{\"private\": true}").unwrap();
        run(Command::new("npm").arg("install").args(NPM).current_dir(folder));
    })
}

/// An environment of Python of the system's own.
pub(crate) fn python() -> PathBuf {
    once("python", |folder| {
        run(Command::new("/usr/bin/python3").args(["-m", "venv"]).arg(folder));
        run(Command::new(folder.join("bin/pip")).arg("install").args(PYPI));
    })
}

/// Fills a folder once, whoever comes first; tests are processes of their own.
fn once(name: &str, fill: impl FnOnce(&Path)) -> PathBuf {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign");
    let folder = all.join(format!("{name}-1"));
    fs::create_dir_all(&folder).unwrap();
    let turn = File::create(all.join(format!("{name}.lock"))).unwrap();
    turn.lock().unwrap();
    let done = folder.join("installed");
    if !done.exists() {
        fill(&folder);
        File::create(done).unwrap();
    }
    fs::canonicalize(folder).unwrap()
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
