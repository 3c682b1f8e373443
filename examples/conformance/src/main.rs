//! MCP conformance fixture: the tools, prompts and resources that the official suite asks of a
//! server, and the client that it asks for.
//!
//! `haft-conformance 127.0.0.1:7400` serves; `scripts/conformance` does so from a release build, and
//! with a Haft before it. `haft-conformance client URL` is the client.

mod backend;
mod browser;
mod client;
mod fixture;
mod form;
mod long;
mod media;
mod sample;
mod tools;

use std::error::Error;
use std::sync::Arc;

use haft::{Definitions, Host, HostOptions, LoadOptions, StoreChoice, define_driver};
use haft_driver::Cancel;
use haft_server::{AppState, HttpServer};

/// The settings of a workspace whose tools are all code, and which shows no others.
const SETTINGS: &str = r#"
[workspace]
name = "conformance"

[[surface]]
scope = "role:agent"
tools = ["*-*", "greet", "upstream.request"]
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    haft::launcher();
    let given: Vec<String> = std::env::args().skip(1).collect();
    match given.as_slice() {
        [client, url] if client == "client" => client::run(url).await,
        [address] => serve(address).await,
        _ => serve("127.0.0.1:0").await,
    }
}

/// Serves the fixture.
async fn serve(address: &str) -> Result<(), Box<dyn Error>> {
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
    let desk = Arc::new(AppState::new(host.shared_runtime())?);
    let server = HttpServer::bind(desk, address).await?;
    println!("http://{}/mcp", server.address());
    server.run(Cancel::new()).await;
    Ok(())
}
