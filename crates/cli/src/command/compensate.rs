//! `haft compensate`: undoes a call by a compensating call, which is authorized like any other.

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_model::{Call, Stop};
use serde_json::json;

use super::call;
use crate::exit::Exit;
use crate::who::As;
use crate::{Context, command, find, output, telling};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The call to undo: its id, or the beginning of it.
    id: String,
    #[command(flatten)]
    by: As,
    /// Do not wait for approval: leave the call pending and exit 75.
    #[arg(long)]
    no_wait: bool,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = command::open(context, StoreChoice::IfPresent)?;
    // Recovery first: a compensation whose process died must end before another may begin.
    let _ = host.runtime().recover().await;
    let undoing = match build(context, &host, &arguments).await {
        Ok(undoing) => undoing,
        Err(stop) => return output::stop(&stop, context.json),
    };
    let patience = call::patience(arguments.no_wait);
    telling::around(&host, call::make(context, &host, undoing, patience)).await
}

async fn build(context: &Context, host: &Host, arguments: &Arguments) -> Result<Call, Stop> {
    let by = arguments.by.actor(context, host);
    let run = find::run(host, &arguments.id).await?;
    let mut undoing = host.runtime().compensation(&run.invocation_id, &by).await?;
    undoing.channel = "cli";
    undoing.native = vec![json!({ "source": "cli", "id": std::process::id().to_string() })];
    Ok(undoing)
}
