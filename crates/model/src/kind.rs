//! Driver kinds: the five ways to reach a backend.

use std::fmt;

use serde::Serialize;

/// A kind of driver, cheapest to dispatch first; the order is the tie-break of routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DriverKind {
    /// A function inside the host.
    Builtin,
    /// A function of a package.
    Sdk,
    /// An HTTP API.
    Http,
    /// An MCP server.
    Mcp,
    /// A program.
    Cli,
}

impl DriverKind {
    /// Every kind.
    pub const ALL: [DriverKind; 5] =
        [DriverKind::Builtin, DriverKind::Sdk, DriverKind::Http, DriverKind::Mcp, DriverKind::Cli];

    /// The spelling in manifests.
    pub fn name(self) -> &'static str {
        match self {
            DriverKind::Builtin => "builtin",
            DriverKind::Sdk => "sdk",
            DriverKind::Http => "http",
            DriverKind::Mcp => "mcp",
            DriverKind::Cli => "cli",
        }
    }

    /// Reads the spelling in manifests.
    pub fn parse(text: &str) -> Option<DriverKind> {
        DriverKind::ALL.into_iter().find(|kind| kind.name() == text)
    }
}

impl fmt::Display for DriverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
