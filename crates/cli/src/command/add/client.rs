//! `haft add client FILE|NAME`: imports the MCP servers of another program's settings.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use haft_import::client::{self, CLIENTS, ListedServer};
use haft_import::{Import, MergePlan};

use super::{Wishes, join, login, mcp, report};
use crate::Context;
use crate::exit::Exit;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A file of settings, or claude-desktop, claude-code, cursor, vscode or codex.
    #[arg(value_name = "FILE|NAME")]
    source: String,
    /// A folder with a saved answer to `tools/list` for each server, as `<server>.json`.
    #[arg(long, value_name = "DIR")]
    lists: Option<PathBuf>,
    /// Only servers of these names.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    #[command(flatten)]
    wishes: Wishes,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let Arguments { source, lists, only, wishes } = arguments;
    if wishes.id.is_some() {
        bail!("`--id` names one import, and settings hold several; `haft add mcp` takes it");
    }
    let file = found(&source, &context.directory)?;
    let shown = file.display().to_string();
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{shown}`"))?;
    let listed = client::servers(&shown, &text).with_context(|| format!("`{shown}`"))?;
    let (mut added, mut left_out) = (Vec::new(), Vec::new());
    for server in listed {
        let ended = match server {
            Ok(server) if !only.is_empty() && !only.contains(&server.name) => continue,
            Ok(server) => one(context, &wishes, lists.as_deref(), &server).await,
            Err(why) => Err(anyhow::anyhow!(why)),
        };
        match ended {
            Ok(done) => added.push(done),
            Err(fault) => left_out.push(format!("{fault:#}")),
        }
    }
    report::show_all(context, &wishes, &added, &left_out)?;
    Ok(if left_out.is_empty() { Exit::Done } else { Exit::FAILED })
}

async fn one(
    context: &Context,
    wishes: &Wishes,
    lists: Option<&Path>,
    listed: &ListedServer,
) -> Result<(Import, MergePlan)> {
    let name = client::import_name(&listed.name);
    // The name is untrusted: as a slug it cannot lead out of the folder.
    let file = lists.map(|folder| folder.join(format!("{name}.json")));
    let options = haft_import::mcp::McpOptions { id: Some(name), ..Default::default() };
    let named = || format!("`{}`", listed.name);
    let asked = mcp::asked(context, listed.server.clone(), file.as_deref()).await;
    let asked = asked.with_context(named)?;
    let (import, base) = mcp::made(&asked, &options).with_context(named)?;
    let outcome = join(context, wishes, &import, base).with_context(named)?;
    if !wishes.dry_run {
        login::keep(context, &import, asked).await.with_context(named)?;
    }
    Ok((import, outcome))
}

/// The settings of a program that is known by name, or a file.
fn found(source: &str, workspace: &Path) -> Result<PathBuf> {
    let Some(client) = CLIENTS.iter().find(|client| client.name == source) else {
        return Ok(PathBuf::from(source));
    };
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let places = client.places.iter().map(|place| match place.strip_prefix("~/") {
        Some(below) => home.join(below),
        None => workspace.join(place),
    });
    let places: Vec<PathBuf> = places.collect();
    let there = places.iter().find(|place| place.is_file()).cloned();
    there.with_context(|| {
        let looked: Vec<&str> = client.places.to_vec();
        format!("`{source}` has no settings here: looked for {}", looked.join(", "))
    })
}
