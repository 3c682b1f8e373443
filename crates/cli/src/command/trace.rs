//! `haft trace`: prints everything that happened to one call.

use std::io::Write as _;

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_ledger::Story;
use haft_model::{Code, Content, Envelope, Stop};
use haft_runtime::TraceView;
use serde_json::json;

use crate::exit::Exit;
use crate::{Context, command, find, output};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The call: its id, that of its question, or the beginning of either.
    id: String,
    /// Print the records of Agent Tool, each with its kind.
    #[arg(long, conflicts_with = "output")]
    records: bool,
    /// Print the whole output of the call, byte for byte.
    #[arg(long)]
    output: bool,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = command::open(context, StoreChoice::IfPresent)?;
    let told = match tell(&host, &arguments.id).await {
        Ok(told) => told,
        Err(stop) => return output::stop(&stop, context.json),
    };
    if arguments.output {
        return match whole_output(&host, &told.story, told.envelope.as_ref()).await {
            Ok(bytes) => {
                std::io::stdout().write_all(&bytes)?;
                Ok(Exit::Done)
            }
            Err(stop) => output::stop(&stop, context.json),
        };
    }
    if arguments.records {
        let records = told.story.records().into_iter();
        let records = records.map(|(kind, record)| json!({ "kind": kind, "record": record }));
        output::json(&records.collect())?;
        return Ok(Exit::Done);
    }
    if context.json {
        output::json(&told.json())?
    } else {
        output::trace(&told)?
    }
    Ok(Exit::Done)
}

async fn tell(host: &Host, given: &str) -> Result<TraceView, Stop> {
    let run = find::run(host, given).await?;
    host.runtime().tell(&run.invocation_id).await
}

/// The driver's whole output, where the store still has it.
async fn whole_output(
    host: &Host,
    story: &Story,
    envelope: Option<&Envelope>,
) -> Result<Vec<u8>, Stop> {
    let id = &story.invocation_id;
    let gone = |why: String| Stop::new(Code::ResourceNotFound, why);
    let Some(envelope) = envelope else {
        return Err(gone(format!("`{id}` has no result")).help("`haft runs` tells where it stands"));
    };
    let Some((_, persisted)) = story.persistence.last() else {
        return Err(gone(format!("`{id}` gave no output: it was {}", story.status)));
    };
    if let Some(kept) = &persisted.payload {
        let bytes = host.reader().payload(id, &kept.digest).await?;
        return bytes.ok_or_else(|| gone(format!("the output of `{id}` was forgotten")));
    }
    match (persisted.strategy.as_str(), &envelope.structured_content, &*envelope.content) {
        ("inline", Some(value), _) => Ok(serde_json::to_vec(value).unwrap_or_default()),
        ("inline", None, [Content::Text { text, .. }]) => Ok(text.clone().into_bytes()),
        ("inline", None, []) => Ok(Vec::new()),
        ("inline", None, pieces) => Ok(serde_json::to_vec(pieces).unwrap_or_default()),
        (_, _, _) => Err(gone(format!("the output of `{id}` was not kept: {}", persisted.reason))),
    }
}
