//! Third-party MCP servers, installed once for all tests.

use std::path::{Path, PathBuf};

use haft_testkit::installed;

const NPM: [&str; 3] = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
];

const PYPI: [&str; 2] = ["mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19"];

/// The folder with `node_modules`.
pub(crate) fn npm() -> PathBuf {
    installed::npm(place("npm"), &NPM)
}

/// A Python virtual environment.
pub(crate) fn python() -> PathBuf {
    installed::python(place("python"), &PYPI)
}

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign-mcp").join(name)
}
