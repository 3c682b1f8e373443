//! `haft why`: explains what would become of a call, without touching anything.

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_catalog::Explanation;
use haft_model::{Call, Code, Stop, Verdict};
use haft_runtime::Why;
use serde_json::Value;

use crate::arguments::{Input, Wishes};
use crate::exit::Exit;
use crate::output::{self, Table};
use crate::{Context, command, who};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The tool: an id, `id@major`, or an alias.
    tool: String,
    #[command(flatten)]
    input: Input,
    /// Who would call; the default actor of haft.toml unless named.
    #[arg(long = "as", value_name = "ACTOR")]
    actor: Option<String>,
    #[command(flatten)]
    wishes: Wishes,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = command::open(context, StoreChoice::IfPresent)?;
    let workspace = host.workspace();
    let Some(entry) = workspace.snapshot().find_called(&arguments.tool, |_| true) else {
        return output::stop(&command::unknown(&workspace, &arguments.tool), context.json);
    };
    let input = arguments.input.read(&entry.contract.model_schema())?;
    let mut call = build(context, &host, &arguments)?;
    call.flaw = arguments.input.flaw(&entry.contract.model_schema())?;
    match host.runtime().why(&call, input).await {
        Err(stop) => output::stop(&stop, context.json),
        Ok(why) => {
            if context.json {
                output::json(&why.to_json())?;
            } else {
                show(&why)?;
            }
            Ok(exit(&why))
        }
    }
}

fn build(context: &Context, host: &Host, arguments: &Arguments) -> Result<Call> {
    let by = who::caller(context, host, arguments.actor.clone());
    let mut call = Call::new(by, arguments.tool.clone(), Value::Null);
    arguments.wishes.apply(&mut call)?;
    Ok(call)
}

/// The first thing that would stop the call.
fn first_stop(explained: &Explanation) -> Option<&Stop> {
    let input = explained.input.as_ref().and_then(|input| input.as_ref().err());
    explained.block.as_ref().or(input).or(explained.route.as_ref().err())
}

/// A call that needs approval is not refused, so only a denial counts.
fn exit(why: &Why) -> Exit {
    let denied = why.decision.as_ref().filter(|decision| decision.verdict == Verdict::Deny);
    match (first_stop(&why.explained), denied) {
        (Some(stop), _) => Exit::of(stop.code),
        (None, Some(decision)) => Exit::of(decision.code.unwrap_or(Code::PermissionDenied)),
        (None, None) => Exit::Done,
    }
}

fn show(why: &Why) -> Result<()> {
    let explained = &why.explained;
    let contract = &explained.entry.contract;
    output::line(format!("\x1b[1m{}\x1b[0m  {}", contract.key(), contract.title()))?;
    if let Some(stop) = &explained.block {
        step_fails("blocked", &stop.message, stop)?;
    }
    match &explained.input {
        None => output::line("input     not given, so not checked")?,
        Some(Ok(_)) => output::line("input     fits the contract")?,
        Some(Err(stop)) => step_fails("input", &stop.message, stop)?,
    }
    let rejected = match &explained.route {
        Ok((route, limits)) => {
            output::line(format!("driver    \x1b[32m{}\x1b[0m: {}", route.driver, route.reason))?;
            output::line(format!("limits    {}", limits_text(limits)))?;
            let state = explained.entry.driver_state(&route.driver);
            if !state.is_empty() {
                output::line(format!("state     {}", output::driver_state(state)))?;
            }
            route.rejected.clone()
        }
        Err(stop) => {
            let none = format!("\x1b[31mnone\x1b[0m ({}): {}", stop.code, stop.message);
            step_fails("driver", &none, stop)?;
            stop.rejected.clone()
        }
    };
    let effects = &contract.effects;
    output::line(format!("risk      {} ({})", effects.risk, effects.risk.word()))?;
    output::line(format!("approval  {}", effects.approval))?;
    output::line(format!("grant     {}", contract.grant_key()))?;
    match (&why.decision, &why.unready) {
        (Some(decision), None) => output::decision(decision)?,
        (Some(decision), Some(stop)) => {
            step_fails("setup", &stop.message, stop)?;
            output::decision(decision)?;
        }
        // The obstacle was reported already.
        (None, _) if first_stop(explained).is_some() => {
            output::line("decision  not judged, because the call would not get that far")?;
        }
        (None, Some(stop)) => {
            step_fails("decision", &format!("not judged: {}", stop.message), stop)?;
        }
        (None, None) => output::line("decision  not judged")?,
    }
    if !rejected.is_empty() {
        output::line("")?;
        let mut table = Table::new(&["REJECTED", "PHASE", "WHY"]);
        for other in rejected {
            let phase = serde_json::to_value(other.phase)?;
            let phase = phase.as_str().unwrap_or_default().to_owned();
            table.row(vec![other.driver.to_string(), phase, other.reason.into_owned()]);
        }
        table.print()?;
    }
    Ok(())
}

/// One step that would stop the call, with what can be done about it.
fn step_fails(step: &str, text: &str, stop: &Stop) -> Result<()> {
    output::line(format!("{step:<10}{text}"))?;
    match &stop.help {
        Some(help) => output::line(format!("{:<10}{help}", "")),
        None => Ok(()),
    }
}

fn limits_text(limits: &haft_model::CallLimits) -> String {
    match limits.retry {
        Some(retry) => format!("{} ms, at most {} attempts", limits.timeout_ms, retry.max_attempts),
        None => format!("{} ms, one attempt", limits.timeout_ms),
    }
}
