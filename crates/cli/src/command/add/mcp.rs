//! `haft add mcp COMMAND…|URL`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use haft_import::mcp::{self, Server};
use haft_import::{Base, Import, read_document};
use haft_model::Glob;
use serde_json::Value;

use super::openapi::is_address;
use super::{Wishes, settle};
use crate::Context;
use crate::exit::Exit;

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

pub(super) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let Arguments { list, only, keep_names, believe_reads, env, wishes, server } = arguments;
    let server = match server.as_slice() {
        [url] if is_address(url) => {
            Server::Remote { url: url.clone(), headers: BTreeMap::new(), sse: false }
        }
        [url, ..] if is_address(url) => {
            bail!("options stand before the address: `haft add mcp --id NAME {url}`")
        }
        command => Server::Program { command: command.to_vec(), env: variables(&env)? },
    };
    let only = only.as_deref().map(Glob::new);
    let options = mcp::Options { id: wishes.id.clone(), only, keep_names, believe_reads };
    let (import, base) = imported(context, &server, list.as_deref(), &options).await?;
    settle(context, &wishes, &import, base)
}

/// The import of a server whose tools are in a file, or are asked for.
pub(super) async fn imported(
    context: &Context,
    server: &Server,
    list: Option<&Path>,
    options: &mcp::Options,
) -> Result<(Import, Base)> {
    let answer = match list {
        Some(file) => saved(file)?,
        None => tools_of(context, server).await?,
    };
    let import = mcp::import(&answer, server, options)?;
    let base = Base::of("mcp", &import.name, answer.to_string().as_bytes());
    Ok((import, base))
}

/// An answer to `tools/list` that somebody saved.
fn saved(file: &Path) -> Result<Value> {
    let shown = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("cannot read `{shown}`"))?;
    read_document(&shown.to_string(), &text).with_context(|| format!("`{shown}`"))
}

/// Starts a server and asks it for its tools.
async fn tools_of(context: &Context, server: &Server) -> Result<Value> {
    let Some(manifest) = mcp::asked(server) else {
        bail!(
            "a secret stands in the command line or the address, so the server is not asked: give the secret by a variable, or save its answer to `tools/list` and give it with `--list FILE`"
        )
    };
    let answer = haft::tools_of(&context.directory, manifest).await;
    answer.map_err(|stop| {
        let help = stop.help.map(|help| format!("; {help}")).unwrap_or_default();
        anyhow!(
            "the server could not be asked for its tools: {}{help}; or save its answer to `tools/list` and give it with `--list FILE`",
            stop.message
        )
    })
}

fn variables(given: &[String]) -> Result<BTreeMap<String, String>> {
    let pair = |text: &String| {
        let (name, value) =
            text.split_once('=').with_context(|| format!("`{text}` is not NAME=VALUE"))?;
        Ok((name.to_owned(), value.to_owned()))
    };
    given.iter().map(pair).collect()
}
