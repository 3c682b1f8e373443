//! What the official MCP conformance suite asks of a server, as tools, prompts and resources of Haft.
//!
//! `haft-conformance 127.0.0.1:7400` serves it in the folder it is started in.

mod backend;
mod fixture;
mod media;
mod tools;

use std::error::Error;
use std::sync::Arc;

use haft::{Definitions, Host, HostOptions, LoadOptions, StoreChoice, define_driver};
use haft_driver::Cancel;
use haft_server::{Desk, Server};

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
    let host = Host::open(std::env::current_dir()?, options)?;
    let desk = Arc::new(Desk::new(host.shared_runtime())?);
    let server = Server::bind(desk, &address).await?;
    println!("http://{}/mcp", server.address());
    server.run(Cancel::new()).await;
    Ok(())
}
