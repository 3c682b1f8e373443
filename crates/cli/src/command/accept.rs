//! `haft accept`: a changed contract is what somebody wants.

use anyhow::Result;
use haft::{LoadOptions, Workspace};
use serde_json::json;

use crate::exit::Exit;
use crate::{Context, output};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The contract: an id, or `id@major`.
    #[arg(value_name = "TOOL", required_unless_present = "all")]
    tool: Option<String>,
    /// Accept every contract as it is now.
    #[arg(long, conflicts_with = "tool")]
    all: bool,
}

pub(crate) fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let workspace = Workspace::load(&context.directory, LoadOptions::default())?;
    let accepted = workspace.accept(arguments.tool.as_deref())?;
    if context.json {
        output::json(&json!({ "accepted": accepted }))?;
    } else {
        for key in accepted {
            output::line(format!("accepted {key}"))?;
        }
    }
    Ok(Exit::Done)
}
