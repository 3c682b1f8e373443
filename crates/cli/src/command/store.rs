//! `haft store`: gives up a store that is lost.

use anyhow::Result;
use haft::{IdentityFile, LoadOptions, Workspace};
use haft_model::{Actor, Role};
use serde_json::json;

use crate::exit::Exit;
use crate::{Context, output};

#[derive(clap::Subcommand)]
pub(crate) enum Arguments {
    /// Take the store that there is, or a new one, for the store of this workspace from now on.
    New {
        /// What was recorded is gone: calls that were made before can be made again, and change things
        /// twice.
        #[arg(long, required = true)]
        accept_loss: bool,
    },
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let Arguments::New { accept_loss: _ } = arguments;
    let workspace = Workspace::load(&context.directory, LoadOptions::default())?;
    let by = Actor::new(format!("user:{}", context.login).as_str(), "default", [Role::Admin]);
    let renewed = workspace.renew_store(&IdentityFile::default(), &by).await?;
    if context.json {
        let lost = renewed.lost.as_ref().map(|memo| &memo.store);
        output::json(&json!({ "store": renewed.store, "lost": lost }))?;
    } else {
        output::line(format!("the store of this workspace is `{}` now", renewed.store))?;
        if let Some(memo) = &renewed.lost {
            output::remark(format!("  `{}` is given up, which is on record in it", memo.store));
        }
    }
    Ok(Exit::Done)
}
