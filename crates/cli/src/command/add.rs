//! `haft add`: imports manifests from servers, documents, programs and client settings.

mod cli;
mod client;
mod document_folder;
mod login;
mod mcp;
mod openapi;
mod place;
mod report;

use anyhow::{Result, bail};
use haft_import::{Base, Import, MergePlan, Prune, merge};

use super::accept_written;
use crate::Context;
use crate::exit::Exit;
use place::TargetFolder;

#[derive(clap::Subcommand)]
pub(crate) enum Arguments {
    /// A contract for each operation of an OpenAPI document, and a driver for each of its hosts.
    Openapi(openapi::Arguments),
    /// A contract for each tool of an MCP server, and a driver for the server.
    Mcp(mcp::Arguments),
    /// A contract for a program or for each of its subcommands, from its help.
    Cli(cli::Arguments),
    /// A driver for each MCP server in the settings of another program.
    Client(client::Arguments),
}

/// What every import can be told.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Wishes {
    /// What ids begin with.
    #[arg(long, value_name = "PREFIX")]
    id: Option<String>,
    /// Say what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Remove imported files that the source no longer has, unless they were edited.
    #[arg(long)]
    prune: bool,
    /// Replace files that no import made.
    #[arg(long)]
    overwrite: bool,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    match arguments {
        Arguments::Openapi(arguments) => openapi::run(context, arguments).await,
        Arguments::Mcp(arguments) => mcp::run(context, arguments).await,
        Arguments::Cli(arguments) => cli::run(context, arguments).await,
        Arguments::Client(arguments) => client::run(context, arguments).await,
    }
}

/// Joins an import with what is there, writes it, and tells what was done.
fn settle(context: &Context, wishes: &Wishes, import: &Import, fresh: Base) -> Result<Exit> {
    let outcome = join(context, wishes, import, fresh)?;
    report::show(context, wishes, import, &outcome)?;
    Ok(Exit::Done)
}

/// Joins an import with what is there, and writes it.
fn join(context: &Context, wishes: &Wishes, import: &Import, fresh: Base) -> Result<MergePlan> {
    let place = TargetFolder::new(&context.directory)?;
    let known = place.base(&import.name)?.unwrap_or_default();
    if !known.kind.is_empty() && known.kind != fresh.kind && !wishes.overwrite {
        let (name, kind) = (&import.name, &known.kind);
        bail!(
            "`{name}` is what `haft add {kind}` made of something else; give one of them another name with `--id`"
        );
    }
    let disk = place.disk(import, &known)?;
    let prune = Prune { vanished: wishes.prune, overwrite: wishes.overwrite };
    let mut outcome = merge(import, &known, &disk, prune);
    outcome.base = Base { files: outcome.base.files, ..fresh };
    if !wishes.dry_run {
        place.write(&import.name, &outcome)?;
        let written: Vec<&str> = outcome.writes.iter().map(|file| file.path.as_str()).collect();
        accept_written(place.root(), &written)?;
    }
    Ok(outcome)
}

/// The merge base of an import of this name.
fn known(context: &Context, name: &str) -> Result<Base> {
    Ok(TargetFolder::new(&context.directory)?.base(name)?.unwrap_or_default())
}
