//! What the official MCP conformance suite asks of a server, as tools, prompts and resources of Haft.
//!
//! `haft-conformance 127.0.0.1:7400` serves it; `scripts/conformance` does so from a release build, and
//! with a Haft before it.

mod backend;
mod fixture;
mod media;
mod tools;

use std::error::Error;
use std::sync::Arc;

use haft::{Definitions, Host, HostOptions, LoadOptions, StoreChoice, define_driver};
use haft_driver::Cancel;
use haft_server::{Desk, Server};

/// The settings of a workspace whose tools are all code.
const SETTINGS: &str = "[workspace]\nname = \"conformance\"\n";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    haft::launcher();
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let mut definitions = Definitions::new();
    let mut driver = define_driver("fixture").name("Fixture");
    for tool in tools::contracts()? {
        driver = driver.serves(&tool);
        definitions = definitions.tool(&tool);
    }
    let driver = driver.by(Arc::new(fixture::Fixture::new())).define()?;
    let load = LoadOptions { definitions: definitions.driver(&driver), ..LoadOptions::default() };
    let options = HostOptions { load, store: StoreChoice::Memory, ..HostOptions::default() };
    let workspace = tempfile::tempdir()?;
    std::fs::write(workspace.path().join("haft.toml"), SETTINGS)?;
    let host = Host::open(workspace.path(), options)?;
    let desk = Arc::new(Desk::new(host.shared_runtime())?);
    let server = Server::bind(desk, &address).await?;
    println!("http://{}/mcp", server.address());
    server.run(Cancel::new()).await;
    Ok(())
}
