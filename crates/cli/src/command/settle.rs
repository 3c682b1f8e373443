//! `haft settle`: resolves a call with an unknown outcome by hand.

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_model::{InvocationId, Stop};
use haft_runtime::ManualResolution;
use serde_json::json;

use crate::exit::Exit;
use crate::who::As;
use crate::{Context, command, find, output};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The call: its id, or the beginning of it.
    id: String,
    /// What became of its effect.
    effect: Effect,
    /// How you know.
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    by: As,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Effect {
    /// It took place.
    Committed,
    /// It did not.
    Absent,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = command::open(context, StoreChoice::IfPresent)?;
    let (what, state, words) = match arguments.effect {
        Effect::Committed => (ManualResolution::Committed, "committed", "took effect"),
        Effect::Absent => (ManualResolution::Absent, "not_committed", "did not take effect"),
    };
    let id = match settle(context, &host, &arguments, what).await {
        Ok(id) => id,
        Err(stop) => return output::stop(&stop, context.json),
    };
    if context.json {
        output::json(&json!({ "invocation_id": id, "effect_state": state }))?;
    } else {
        output::line(format!("it is on record that {id} {words}"))?;
    }
    Ok(Exit::Done)
}

async fn settle(
    context: &Context,
    host: &Host,
    arguments: &Arguments,
    what: ManualResolution,
) -> Result<InvocationId, Stop> {
    let by = arguments.by.actor(context, host);
    let id = find::run(host, &arguments.id).await?.invocation_id;
    host.runtime().settle(&id, what, &by, &arguments.reason).await?;
    Ok(id)
}
