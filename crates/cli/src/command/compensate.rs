//! `haft compensate`: undoes a call, by a call of its own that is judged like any other.

use std::time::Instant;

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_model::{Call, Question, Stop};
use haft_runtime::{Manner, Patience, Prompt};
use serde_json::json;

use super::call;
use crate::exit::Exit;
use crate::prompt::Terminal;
use crate::who::{self, As};
use crate::{Context, command, find, interrupt, output};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The call to undo: its id, or the beginning of it.
    id: String,
    #[command(flatten)]
    by: As,
    /// Where a person has to answer first, leave the call in the inbox and exit with 75.
    #[arg(long)]
    no_wait: bool,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = command::open(context, StoreChoice::IfPresent)?;
    // An undoing whose process died is over before another may begin.
    let _ = host.runtime().recover().await;
    let undoing = match build(context, &host, &arguments).await {
        Ok(undoing) => undoing,
        Err(stop) => return output::stop(&stop, context.json),
    };
    let terminal = Terminal::new(&host, who::person(context, &host));
    let at_hand = !arguments.no_wait && call::somebody_is_here();
    let tell = |question: &Question| call::announce(question);
    let manner = Manner {
        patience: if arguments.no_wait { Patience::Leave } else { Patience::Wait },
        prompt: at_hand.then_some(&terminal as &dyn Prompt),
        tell: Some(&tell),
        cancel: interrupt::listen(),
        ..Manner::default()
    };
    let began = Instant::now();
    let envelope = host.runtime().call(undoing, manner).await;
    output::envelope(&envelope, began.elapsed(), context.json)
}

async fn build(context: &Context, host: &Host, arguments: &Arguments) -> Result<Call, Stop> {
    let by = arguments.by.actor(context, host);
    let run = find::run(host, &arguments.id).await?;
    let mut undoing = host.runtime().compensation(&run.invocation_id, &by).await?;
    undoing.channel = "cli";
    undoing.native = vec![json!({ "source": "cli", "id": std::process::id().to_string() })];
    Ok(undoing)
}
