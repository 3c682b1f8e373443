//! What an MCP server says of its tools, for whoever writes a manifest of it.

use std::path::Path;
use std::time::Duration;

use haft_drivers::{Place, mcp};
use haft_model::Stop;
use haft_sandbox::{AddressGuard, Launcher, Walls};
use serde_json::Value;

/// How long a server may take to start and to list its tools.
const LONGEST: Duration = Duration::from_secs(30);

/// Asks a server for its tools. `manifest` is a driver of kind mcp as far as it says where the server
/// is; a program runs confined and sees the folder to read.
pub async fn tools_of(root: &Path, manifest: Value) -> Result<Value, Stop> {
    let place = Place {
        root: root.to_owned(),
        hidden: vec![".haft".into()],
        walls: Walls::here(Launcher::own()),
        guard: AddressGuard::public(),
        variable: |name| std::env::var(name).ok(),
        secrets: Default::default(),
    };
    mcp::list(manifest, place, LONGEST).await
}
