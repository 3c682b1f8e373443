//! `haft runs`: lists the calls that were made.

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_ledger::{Run, RunFilter};
use haft_model::{Status, Stop, Timestamp};

use crate::arguments::Misuse;
use crate::exit::Exit;
use crate::output::{self, Table};
use crate::{Context, command, find};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only those that have not ended.
    #[arg(long)]
    open: bool,
    /// Only those whose effect is unknown.
    #[arg(long)]
    unknown: bool,
    /// Only those of this tool, `id` or `id@major`.
    #[arg(long)]
    tool: Option<String>,
    /// Only those by this actor.
    #[arg(long)]
    actor: Option<String>,
    /// Only those in this state, such as `succeeded`.
    #[arg(long)]
    status: Vec<String>,
    /// At most so many.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Only those before this one.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let status = arguments.status.iter().map(|word| status(word)).collect::<Result<_, _>>()?;
    let host = command::open(context, StoreChoice::IfPresent)?;
    match found(&host, &arguments, status).await {
        Err(stop) => output::stop(&stop, context.json),
        Ok(runs) if context.json => {
            output::json(&serde_json::to_value(runs)?)?;
            Ok(Exit::Done)
        }
        Ok(runs) => show(&runs),
    }
}

fn status(word: &str) -> Result<Status, Misuse> {
    Status::parse(word).ok_or_else(|| {
        let all: Vec<&str> = Status::ALL.iter().map(|status| status.name()).collect();
        Misuse(format!("`{word}` is no state; there are {}", all.join(", ")))
    })
}

async fn found(host: &Host, arguments: &Arguments, status: Vec<Status>) -> Result<Vec<Run>, Stop> {
    let before = match &arguments.before {
        Some(given) => Some(find::run(host, given).await?.invocation_id),
        None => None,
    };
    let filter = RunFilter {
        open: arguments.open,
        unknown: arguments.unknown,
        tool: arguments.tool.clone(),
        actor: arguments.actor.clone(),
        status,
        before,
        most: arguments.limit,
        ..RunFilter::default()
    };
    host.reader().runs(&filter).await
}

fn show(runs: &[Run]) -> Result<Exit> {
    if runs.is_empty() {
        output::line("no call fits")?;
        return Ok(Exit::Done);
    }
    let now = Timestamp::now();
    let mut table = Table::new(&["CALL", "TOOL", "WHO", "STATUS", "EFFECT", "WHEN", "ERROR"]);
    for run in runs {
        table.row(vec![
            run.invocation_id.to_string(),
            run.tool_id.clone(),
            run.actor.clone(),
            run.status.to_string(),
            run.effect_state.to_string(),
            output::ago(run.created_at, now),
            run.error_code.map(|code| code.to_string()).unwrap_or_default(),
        ]);
    }
    table.print()?;
    Ok(Exit::Done)
}
