//! Server processes that the benchmark measures.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use haft_testkit::{Folder, processor_time};
use serde_json::{Value, json};

/// A server that runs until it is dropped.
pub(crate) struct Process {
    child: Child,
    /// Where it listens.
    pub(crate) address: String,
    /// The tool that is called there, and with what.
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

impl Process {
    /// This program in another part, which is told something or nothing.
    pub(crate) fn itself(part: &[&str]) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let (child, line) = Process::start(command.args(part));
        let address = line.trim().to_owned();
        Process { child, address, tool: "time_now", arguments: json!({}) }
    }

    /// `haft serve` of a workspace.
    pub(crate) fn haft(workspace: &Folder, tool: &'static str) -> Process {
        let (child, line) = Process::start(&mut serve(workspace));
        let told: Value = serde_json::from_str(&line).expect("haft says where it listens");
        let address = told["mcp"].as_str().and_then(|url| url.strip_prefix("http://"));
        let address = address.and_then(|rest| rest.strip_suffix("/mcp")).expect("an address");
        Process { child, address: address.to_owned(), tool, arguments: json!({}) }
    }

    /// The same, of which another tool is called.
    pub(crate) fn called(mut self, tool: &'static str, arguments: Value) -> Process {
        (self.tool, self.arguments) = (tool, arguments);
        self
    }

    /// Starts it and gives its first line.
    fn start(command: &mut Command) -> (Child, String) {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        (child, line)
    }

    /// The processor time that it took so far.
    pub(crate) fn processor(&self) -> Duration {
        processor_time(&self.child.id().to_string())
    }

    /// What it holds in memory, in words.
    pub(crate) fn memory(&self) -> String {
        format!("{:.1} MB", self.kilobytes() as f64 / 1000.0)
    }

    /// What it holds in memory.
    pub(crate) fn kilobytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

/// The line that serves a workspace at a port of its own.
fn serve(workspace: &Folder) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.arg("-C").arg(workspace.path()).args(["serve", "--listen", "127.0.0.1:0", "--json"]);
    command.stderr(Stdio::null());
    command
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
