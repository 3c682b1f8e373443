//! `haft add mcp COMMAND…|URL`: imports the tools of an MCP server.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use haft::Stranger;
use haft_contract::DriverManifest;
use haft_import::mcp::{self, OAuth, ServerSource};
use haft_import::{Base, Import, read_document};
use haft_model::{DriverKind, Glob};
use serde_json::Value;

use super::openapi::is_address;
use super::{Wishes, login, settle};
use crate::exit::Exit;
use crate::{Context, command};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A saved answer to `tools/list`.
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// Only tools whose name there matches.
    #[arg(long, value_name = "GLOB")]
    only: Option<String>,
    /// Show the tools to models and clients under their names there.
    #[arg(long)]
    keep_names: bool,
    /// Believe the server where it says that a tool only reads.
    #[arg(long)]
    believe_reads: bool,
    /// A variable that the server is started with.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    #[command(flatten)]
    client: OAuthClient,
    #[command(flatten)]
    wishes: Wishes,
    /// The server: a command with its arguments, or an address.
    #[arg(
        value_name = "COMMAND…|URL",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    server: Vec<String>,
}

/// OAuth client that is registered at the authorization server of an MCP server.
#[derive(clap::Args)]
struct OAuthClient {
    /// Id of the OAuth client that is registered at the server's authorization server.
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Ask for the secret of this OAuth client.
    #[arg(long, requires = "client_id")]
    client_secret: bool,
    /// Address of the client id metadata document.
    #[arg(long, value_name = "URL")]
    client_document: Option<String>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let Arguments { list, only, keep_names, believe_reads, env, client, wishes, server } =
        arguments;
    let oauth = OAuth {
        client_id: client.client_id,
        client_secret: client.client_secret,
        document: client.client_document,
    };
    let server = match server.as_slice() {
        [url] if is_address(url) => {
            let (url, headers) = (url.clone(), BTreeMap::new());
            let login = (oauth != OAuth::default()).then_some(oauth);
            ServerSource::Remote { url, headers, sse: false, login }
        }
        [url, ..] if is_address(url) => {
            bail!("options stand before the address: `haft add mcp --id NAME {url}`")
        }
        command => ServerSource::Program { command: command.to_vec(), env: variables(&env)? },
    };
    let only = only.as_deref().map(Glob::new);
    let options = mcp::McpOptions { id: wishes.id.clone(), only, keep_names, believe_reads };
    let asked = asked(context, server, list.as_deref()).await?;
    let (import, base) = made(&asked, &options)?;
    let exit = settle(context, &wishes, &import, base)?;
    if !wishes.dry_run {
        login::keep(context, &import, asked).await?;
    }
    Ok(exit)
}

/// A server, its tools, and the credentials of a login that the import went through.
pub(super) struct ProbedServer {
    server: ServerSource,
    answer: Value,
    pub(super) got: login::Got,
}

/// Asks a server for its tools, unless a file has them.
pub(super) async fn asked(
    context: &Context,
    server: ServerSource,
    list: Option<&Path>,
) -> Result<ProbedServer> {
    match list {
        Some(file) => Ok(ProbedServer { server, answer: saved(file)?, got: login::Got::default() }),
        None => tools_of(context, server).await,
    }
}

/// The import of a server that was asked.
pub(super) fn made(asked: &ProbedServer, options: &mcp::McpOptions) -> Result<(Import, Base)> {
    let import = mcp::import(&asked.answer, &asked.server, options)?;
    let base = Base::of("mcp", &import.name, asked.answer.to_string().as_bytes());
    Ok((import, base))
}

/// A saved answer to `tools/list`.
fn saved(file: &Path) -> Result<Value> {
    let shown = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("cannot read `{shown}`"))?;
    read_document(&shown.to_string(), &text).with_context(|| format!("`{shown}`"))
}

/// Starts a server and asks it for its tools. A person at the terminal logs in where it wants that.
async fn tools_of(context: &Context, mut server: ServerSource) -> Result<ProbedServer> {
    let Some(manifest) = mcp::asked(&server) else {
        bail!(
            "a secret stands in the command line or the address, so the server is not asked: give the secret by a variable, or save its answer to `tools/list` and give it with `--list FILE`"
        )
    };
    let oauth = match &server {
        ServerSource::Remote { login, .. } => login.clone().unwrap_or_default(),
        ServerSource::Program { .. } => OAuth::default(),
    };
    let client_secret = login::client_secret(&oauth)?;
    let manifest = DriverManifest::from_json(DriverKind::Mcp, &manifest);
    let manifest = manifest.map_err(|stop| anyhow!(stop.message))?;
    let mut stranger =
        Stranger { root: &context.directory, manifest, client_secret: client_secret.clone() };
    let answer = match command::login::attended() {
        true => stranger.tools_with_login(&command::login::tell).await,
        false => stranger.tools().await.map(|answer| (answer, None)),
    };
    let (answer, token) = answer.map_err(|stop| {
        let help = stop.help.map(|help| format!("; {help}")).unwrap_or_default();
        anyhow!(
            "the server could not be asked for its tools: {}{help}; or save its answer to `tools/list` and give it with `--list FILE`",
            stop.message
        )
    })?;
    if let (Some(_), ServerSource::Remote { login, .. }) = (&token, &mut server) {
        *login = Some(oauth);
    }
    Ok(ProbedServer { server, answer, got: login::Got { token, client_secret } })
}

fn variables(given: &[String]) -> Result<BTreeMap<String, String>> {
    let pair = |text: &String| {
        let (name, value) =
            text.split_once('=').with_context(|| format!("`{text}` is not NAME=VALUE"))?;
        Ok((name.to_owned(), value.to_owned()))
    };
    given.iter().map(pair).collect()
}
