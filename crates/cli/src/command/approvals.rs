//! `haft approvals`: the approval inbox, from the terminal.

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_ledger::{QuestionFilter, QuestionRecord};
use haft_model::{Actor, QuestionId, StandingAnswer, Stop, Timestamp};
use serde_json::json;

use crate::exit::Exit;
use crate::output::{self, Table};
use crate::who::As;
use crate::{Context, command};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Show those that are settled too.
    #[arg(long, conflicts_with_all = ["standing", "revoke"])]
    all: bool,
    /// Show the answers that stand for calls to come.
    #[arg(long, conflicts_with = "revoke")]
    standing: bool,
    /// Take a standing answer back.
    #[arg(long, value_name = "ID")]
    revoke: Option<String>,
    #[command(flatten)]
    by: As,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = command::open(context, StoreChoice::IfPresent)?;
    let by = arguments.by.actor(context, &host);
    let outcome = match (&arguments.revoke, arguments.standing) {
        (Some(id), _) => revoke(context, &host, &by, id).await,
        (None, true) => standing(context, &host, &by).await,
        (None, false) => questions(context, &host, &by, arguments.all).await,
    };
    command::ended(outcome, context)
}

async fn questions(
    context: &Context,
    host: &Host,
    by: &Actor,
    all: bool,
) -> Result<Result<Exit>, Stop> {
    let filter = QuestionFilter {
        tenant: Some(by.tenant.to_string()),
        open: !all,
        ..QuestionFilter::default()
    };
    let now = Timestamp::now();
    let mut found = host.runtime().questions(&filter).await?;
    // An expired question stays open until a process notices, and no answer counts any more.
    found.retain(|record| all || record.question.expires_at > now);
    Ok(list(context, &found, now))
}

fn list(context: &Context, found: &[QuestionRecord], now: Timestamp) -> Result<Exit> {
    if context.json {
        output::json(&found.iter().map(|record| record.told(now)).collect())?;
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        output::line("no question waits for an answer")?;
        return Ok(Exit::Done);
    }
    for record in found {
        show(record, now)?;
    }
    Ok(Exit::Done)
}

fn show(record: &QuestionRecord, now: Timestamp) -> Result<()> {
    let question = &record.question;
    let asked = output::ago(question.asked_at, now);
    let state = record.state_at(now);
    output::line(format!(
        "\x1b[1m{}\x1b[0m  {state}, asked {asked}, ends {}",
        question.id,
        output::until(question.expires_at, now)
    ))?;
    output::line(format!("  {}", output::visible(&question.summary)))?;
    let input = output::visible(&question.shown_input.to_string());
    output::line(format!("  by {} with {input}", question.bound.driver))?;
    if !question.driver_state.is_empty() {
        output::line(format!("  state: {}", output::driver_state(&question.driver_state)))?;
    }
    if let Some(form) = &question.form {
        output::form(form).into_iter().try_for_each(output::line)?;
        output::line(format!("  fill it in with `haft approve {} --field …`", question.id))?;
    }
    for needs in &question.needs {
        output::line(format!("  answers: {}", output::needs(needs)))?;
    }
    for answer in &record.answers {
        let word = if answer.approves { "yes" } else { "no" };
        let reason = answer
            .reason
            .as_ref()
            .map(|why| format!(": {}", output::visible(why)))
            .unwrap_or_default();
        output::line(format!("  {} said {word}{reason}", answer.by))?;
    }
    output::line("")
}

async fn standing(context: &Context, host: &Host, by: &Actor) -> Result<Result<Exit>, Stop> {
    let found = host.runtime().standing_answers(&by.tenant).await?;
    Ok(list_standing(context, &found))
}

fn list_standing(context: &Context, found: &[StandingAnswer]) -> Result<Exit> {
    if context.json {
        output::json(&serde_json::to_value(found)?)?;
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        output::line("no answer stands")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["ID", "CALLER", "TOOL", "BY", "SINCE"]);
    for answer in found {
        table.row(vec![
            answer.id.to_string(),
            answer.actor.to_string(),
            answer.tool.clone(),
            answer.by.to_string(),
            output::clock(answer.at),
        ]);
    }
    table.print()?;
    Ok(Exit::Done)
}

async fn revoke(
    context: &Context,
    host: &Host,
    by: &Actor,
    given: &str,
) -> Result<Result<Exit>, Stop> {
    let standing = host.runtime().standing_answers(&by.tenant).await?;
    let mut begun = standing.iter().filter(|answer| answer.id.as_str().starts_with(given));
    // A name that fits none or several is handed on as it is, and refused as such.
    let id = match (begun.next(), begun.next()) {
        (Some(one), None) => one.id.clone(),
        (_, _) => QuestionId::from(given),
    };
    host.runtime().revoke(&id, by).await?;
    if context.json {
        return Ok(output::json(&json!({ "revoked": id })).map(|()| Exit::Done));
    }
    Ok(output::line(format!("revoked {id}")).map(|()| Exit::Done))
}
