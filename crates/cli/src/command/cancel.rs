//! `haft cancel`: requests the cancellation of a call.

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_model::{InvocationId, Stop};
use haft_runtime::CancelAnswer;
use serde_json::json;

use crate::exit::Exit;
use crate::who::As;
use crate::{Context, command, find, output};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The call: its id, or the beginning of it.
    id: String,
    #[command(flatten)]
    by: As,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = command::open(context, StoreChoice::IfPresent)?;
    let (id, answer) = match wish(context, &host, arguments).await {
        Ok(wished) => wished,
        Err(stop) => return output::stop(&stop, context.json),
    };
    let (state, words) = match answer {
        CancelAnswer::Over => ("canceled", format!("{id} is over")),
        CancelAnswer::Told => ("cancel_requested", format!("cancellation of {id} requested")),
    };
    if context.json {
        output::json(&json!({ "invocation_id": id, "state": state }))?;
    } else {
        output::line(words)?;
    }
    Ok(Exit::Done)
}

async fn wish(
    context: &Context,
    host: &Host,
    arguments: Arguments,
) -> Result<(InvocationId, CancelAnswer), Stop> {
    let by = arguments.by.actor(context, host);
    let run = find::run(host, &arguments.id).await?;
    let answer = host.runtime().cancel(&run.invocation_id, &by).await?;
    Ok((run.invocation_id, answer))
}
