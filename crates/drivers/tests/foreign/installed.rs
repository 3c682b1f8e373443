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
        let options = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
        run(Command::new("npm").args(options).args(NPM).current_dir(folder));
    })
}

/// An environment of Python.
pub(crate) fn python() -> PathBuf {
    once("python", |folder| {
        // One without a pip of its own takes nothing but python3 and pip.
        run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(folder));
        let pip = ["-m", "pip", "--python"];
        run(Command::new("python3")
            .args(pip)
            .arg(folder.join("bin/python"))
            .args(["install", "--quiet"])
            .args(PYPI));
    })
}

/// Fills a folder once, whoever comes first; tests are processes of their own.
fn once(name: &str, fill: impl FnOnce(&Path)) -> PathBuf {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign");
    let folder = all.join(format!("{name}-2"));
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
