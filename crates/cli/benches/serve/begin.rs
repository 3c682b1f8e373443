//! Benchmark workspaces, and the startup time of a server.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use haft_testkit::{Folder, installed};

use crate::load::{Connection, Era};
use crate::process::Process;

const SETTINGS: &str =
    "[workspace]\nname = \"bench\"\n[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

/// A server of npm, and its program.
const PACKAGE: &str = "@modelcontextprotocol/server-everything@2026.8.31";
pub(crate) const EVERYTHING: &str =
    "node_modules/@modelcontextprotocol/server-everything/dist/index.js";

/// How many tools a server has whose start is measured, and how often it starts.
const TOOLS: usize = 100;
const STARTS: usize = 21;

/// A workspace with the tools that come with Haft.
pub(crate) fn builtin() -> Folder {
    Folder::new().file("haft.toml", SETTINGS)
}

/// A workspace before an MCP server, which is this program.
pub(crate) fn backend() -> Folder {
    let this = std::env::current_exe().unwrap();
    before(builtin(), &[this.to_str().unwrap(), "backend"])
}

/// A workspace before a server of npm, which is there as `EVERYTHING`.
pub(crate) fn everything() -> Folder {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-npm");
    let modules = installed::npm(place, &[PACKAGE]).join("node_modules");
    let folder = builtin();
    std::os::unix::fs::symlink(modules, folder.path().join("node_modules")).unwrap();
    before(folder, &["npx", "-y", PACKAGE])
}

/// A workspace with the tools of a server.
fn before(folder: Folder, server: &[&str]) -> Folder {
    let added = Command::new(env!("CARGO_BIN_EXE_haft"))
        .arg("-C")
        .arg(folder.path())
        .args(["add", "mcp", "--id", "behind", "--keep-names", "--believe-reads"])
        .args(server)
        .output()
        .unwrap();
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    folder
}

/// A workspace with a hundred tools of its own.
fn crowded() -> Folder {
    (0..TOOLS).fold(builtin(), |folder, number| {
        let contract = format!(
            "---\nname: Tool {number}\nid: shop.tool{number}\ndescription: Looks order {number} up by its id.\n\
             version: 1.0.0\nmutates: []\nrisk_level: 0\ninputs:\n  type: object\n  properties:\n    order: {{ type: string }}\n\
             outputs: {{ type: object }}\nrequires: {{ network: [\"127.0.0.1:9\"] }}\n---\n"
        );
        folder.file(&format!(".tools/shop.tool{number}/TOOL.md"), contract)
    })
}

/// Prints how long a server takes from its start to its first answer, and what it then holds.
pub(crate) fn measure() {
    let folder = crowded();
    let mut accept = Command::new(env!("CARGO_BIN_EXE_haft"));
    accept.arg("-C").arg(folder.path()).args(["accept", "--all"]);
    assert!(accept.output().unwrap().status.success());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut starts: Vec<(Duration, u64)> = Vec::new();
    let mut bare: Vec<Duration> = Vec::new();
    // The first start makes the ledger.
    for start in 0..=STARTS {
        let began = Instant::now();
        let haft = Process::haft(&folder, "time.now");
        runtime.block_on(async { Connection::open(&haft, Era::Stateless).await.call().await });
        let took = began.elapsed();
        let began = Instant::now();
        let other = Process::itself(&["bare"]);
        runtime.block_on(async { Connection::open(&other, Era::Stateless).await.call().await });
        if start > 0 {
            starts.push((took, haft.kilobytes()));
            bare.push(began.elapsed());
        }
    }
    starts.sort();
    bare.sort();
    let (took, held) = starts[STARTS / 2];
    println!(
        "with {TOOLS} tools: first answer {:.0} ms after the start (a bare server {:.0} ms), {:.1} MB held",
        took.as_secs_f64() * 1e3,
        bare[STARTS / 2].as_secs_f64() * 1e3,
        held as f64 / 1000.0
    );
}
