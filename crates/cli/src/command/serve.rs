//! `haft serve`: one process that any agent can point at.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use haft::StoreChoice;
use haft_contract::settings;
use haft_server::{Desk, Entrance, OAuth, Server};

use crate::exit::Exit;
use crate::{Context, command, interrupt, output};

/// The most that a document of an authorization server takes.
const LARGEST_DOCUMENT: usize = 1024 * 1024;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// `host:port`; what haft.toml says where none is given.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Speak MCP on standard input and output instead.
    #[arg(long, conflicts_with = "listen")]
    stdio: bool,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = command::open(context, StoreChoice::Settings)?;
    command::record_first_sight(&host.workspace());
    // What a process that died left behind is settled while callers are heard already.
    let runtime = host.shared_runtime();
    tokio::spawn(async move { runtime.recover().await });
    let desk = Arc::new(Desk::new(host.shared_runtime())?);
    if arguments.stdio {
        let stranger = host.runtime().world().people.stranger();
        haft_server::stdio(desk, stranger).await.map_err(|fault| anyhow!(fault))?;
        return Ok(Exit::Done);
    }
    let settings = host.workspace().settings().server.clone();
    let listen = arguments.listen.unwrap_or(settings.listen);
    let entrance =
        Entrance { hosts: settings.hosts.into_iter().collect(), oauth: settings.oauth.map(oauth) };
    let server = Server::open(desk, &listen, entrance).await?;
    output::remark(format!("MCP   http://{}/mcp", server.address()));
    output::remark(format!("REST  http://{}/v1", server.address()));
    server.run(interrupt::listen()).await;
    host.flush().await?;
    Ok(Exit::Done)
}

/// What `[server.oauth]` says, as the server wants it.
fn oauth(written: settings::OAuth) -> OAuth {
    let settings::OAuth { issuer, audience, roles } = written;
    let fetch = |place: String| -> haft_driver::BoxFuture<'static, _> {
        Box::pin(async move {
            haft::download(&place, LARGEST_DOCUMENT).await.map_err(|stop| stop.message)
        })
    };
    OAuth { issuer, audience, roles, fetch: Arc::new(fetch) }
}
