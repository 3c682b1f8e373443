//! `haft events`: prints ledger entries as they are recorded.

use std::time::Duration;

use anyhow::Result;
use haft::StoreChoice;
use haft_ledger::events;
use haft_model::{Code, Stop};
use serde_json::Value;

use crate::exit::Exit;
use crate::{Context, command, interrupt, output};

/// The polling interval for new entries.
const LOOK: Duration = Duration::from_secs(1);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Go on with what is recorded from now on, until Ctrl-C.
    #[arg(long, short)]
    follow: bool,
    /// Begin after this entry.
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    // `--follow` waits for future entries, so the store has to exist.
    let store = if arguments.follow { StoreChoice::Settings } else { StoreChoice::IfPresent };
    let host = command::open(context, store)?;
    let cancel = interrupt::listen();
    let mut entries = host.subscribe(arguments.after);
    let look = if arguments.follow { LOOK } else { Duration::ZERO };
    loop {
        let next = tokio::select! {
            next = entries.next(look) => next,
            () = cancel.cancelled() => return Ok(Exit::Done),
        };
        match next? {
            None if arguments.follow => {}
            None => return Ok(Exit::Done),
            Some(entry) => match events(&entry) {
                Ok(records) => records.iter().try_for_each(|record| show(context, record))?,
                Err(fault) => {
                    let stop = Stop::new(Code::Internal, fault.to_string())
                        .help("`haft audit verify` tells what is wrong with the store");
                    return output::stop(&stop, context.json);
                }
            },
        }
    }
}

fn show(context: &Context, record: &Value) -> Result<()> {
    if context.json {
        return output::json_line(record);
    }
    let text = |name: &str| record.get(name).and_then(Value::as_str).unwrap_or_default();
    let seq = record.get("seq").and_then(Value::as_u64).unwrap_or_default();
    let time = text("time");
    let time = time.get(11..19).unwrap_or(time);
    let row = format!(
        "{seq:>6}  {time}  {:<34}  {:<36}  {}",
        text("event_type"),
        text("invocation_id"),
        output::visible(&detail(record))
    );
    output::line(row.trim_end())
}

/// The most useful detail of an event, for people.
fn detail(record: &Value) -> String {
    let said = |name: &str| {
        let found = record.get("data").and_then(|data| data.get(name))?;
        match found {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        }
    };
    let verdict = record.pointer("/data/decision/verdict").and_then(Value::as_str);
    let names = [
        "requested",
        "tool",
        "final_status",
        "state",
        "strategy",
        "status",
        "driver",
        "attempt",
        "by",
        "text",
    ];
    let first = said("summary").or_else(|| verdict.map(str::to_owned));
    let first = first.or_else(|| names.iter().find_map(|name| said(name)));
    let code = said("code").map(|code| format!(" ({code})")).unwrap_or_default();
    first.unwrap_or_default() + &code
}
