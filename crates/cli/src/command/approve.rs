//! `haft approve` and `haft reject`: answering a question of the inbox.

use std::time::Instant;

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_ledger::{QuestionFilter, QuestionRecord, RunFilter};
use haft_model::{Code, Envelope, QuestionId, QuestionState, Status, Stop};
use haft_runtime::{Answered, Recovered, Reply};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::who::As;
use crate::{Context, arguments, command, find, output};

#[derive(clap::Args)]
pub(crate) struct Approve {
    /// The question, or its call: an id, or the beginning of one.
    id: String,
    /// Let the yes stand for calls like this one, until somebody revokes it.
    #[arg(long)]
    always: bool,
    /// An input to use instead, as JSON or `@FILE`.
    #[arg(long, value_name = "JSON|@FILE")]
    edit: Option<String>,
    /// Why.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    by: As,
}

#[derive(clap::Args)]
pub(crate) struct Reject {
    /// The question, or its call: an id, or the beginning of one.
    id: String,
    /// Why not; whoever called is told.
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    by: As,
}

/// What an answer led to.
enum Led {
    /// The call was carried out here.
    To(Box<Envelope>),
    /// Whoever made the call goes on with it.
    On,
    /// Others have to answer too.
    ToOthers,
    /// The call is not what it was when that was asked, so it is asked about anew.
    ToAnother(QuestionId),
}

pub(crate) async fn approve(context: &Context, arguments: Approve) -> Result<Exit> {
    let edit = arguments.edit.as_deref().map(arguments::json_or_file).transpose()?;
    let host = command::open(context, StoreChoice::IfPresent)?;
    let began = Instant::now();
    match yes(context, &host, &arguments, edit).await {
        Err(stop) => output::stop(&stop, context.json),
        Ok((record, Led::To(envelope))) => {
            let exit = output::envelope(&envelope, began.elapsed(), context.json)?;
            // Anybody else who made the call finds the answer by calling again.
            if record.question.bound.actor == arguments.by.actor(context, &host).id {
                host.runtime().handed_over(&envelope.invocation_id).await;
            }
            Ok(exit)
        }
        Ok((record, led)) => told(context, &record, &led),
    }
}

async fn yes(
    context: &Context,
    host: &Host,
    arguments: &Approve,
    edit: Option<Value>,
) -> Result<(QuestionRecord, Led), Stop> {
    let by = arguments.by.actor(context, host);
    let record = find::question(host, &by, &arguments.id).await?;
    let reply = Reply {
        by,
        approves: true,
        reason: arguments.reason.clone(),
        edited_input: edit,
        always: arguments.always,
        channel: "inbox".to_owned(),
    };
    let led = answer(host, &record, reply).await?;
    Ok((record, led))
}

async fn answer(host: &Host, record: &QuestionRecord, reply: Reply) -> Result<Led, Stop> {
    let agreed = record.answers.iter().any(|one| one.approves && one.by == reply.by.id);
    let agreed = agreed && record.state == QuestionState::Open;
    let approved = agreed || record.state == QuestionState::Approved;
    if approved && reply.by.may_answer() {
        return take_over(host, record).await;
    }
    still_open(record)?;
    match host.runtime().answer_and_run(&record.question.id, reply).await? {
        Answered::CarriedOut(envelope) => Ok(Led::To(envelope)),
        Answered::StillOpen => {
            Ok(asked_anew(host, record).await?.map_or(Led::ToOthers, Led::ToAnother))
        }
        // The caller's process keeps the call whether the answer was the last it needs or not.
        Answered::Passed if waits(host, record).await? => Ok(Led::ToOthers),
        Answered::Passed => Ok(Led::On),
    }
}

/// A question that is settled is answered by nobody any more.
fn still_open(record: &QuestionRecord) -> Result<(), Stop> {
    match record.state {
        QuestionState::Open => Ok(()),
        state @ (QuestionState::Approved
        | QuestionState::Rejected
        | QuestionState::Expired
        | QuestionState::Withdrawn) => Err(settled(record, state.name())),
    }
}

fn settled(record: &QuestionRecord, how: &str) -> Stop {
    let question = &record.question;
    Stop::new(Code::Conflict, format!("`{}` is settled already: {how}", question.id))
        .help(format!("`haft trace {}` tells it all", question.bound.invocation))
}

/// Somebody said yes before, and nobody may have been there to carry the call out.
async fn take_over(host: &Host, record: &QuestionRecord) -> Result<Led, Stop> {
    let id = &record.question.bound.invocation;
    let filter = RunFilter { id: Some(id.clone()), ..RunFilter::default() };
    let runs = host.reader().runs(&filter).await?;
    if let Some(ended) = runs.iter().find(|run| run.status.is_terminal()) {
        return Err(settled(record, &format!("approved, and the call has {}", ended.status)));
    }
    match host.runtime().take_over(id).await? {
        Recovered::Finished(envelope) => Ok(Led::To(envelope)),
        Recovered::StillWaiting => Ok(Led::ToOthers),
        Recovered::Elsewhere => Err(settled(record, "approved, and another process has the call")),
    }
}

/// The question that was asked in place of one that was answered, if there is one.
async fn asked_anew(host: &Host, record: &QuestionRecord) -> Result<Option<QuestionId>, Stop> {
    let invocation = Some(record.question.bound.invocation.clone());
    let filter = QuestionFilter { invocation, open: true, ..QuestionFilter::default() };
    let open = host.runtime().questions(&filter).await?;
    let mut others = open.into_iter().map(|other| other.question.id);
    Ok(others.find(|id| *id != record.question.id))
}

async fn waits(host: &Host, record: &QuestionRecord) -> Result<bool, Stop> {
    let id = Some(record.question.id.clone());
    let filter = QuestionFilter { id, ..QuestionFilter::default() };
    let open = host.runtime().questions(&filter).await?;
    let open = open.iter().any(|record| record.state == QuestionState::Open);
    let id = Some(record.question.bound.invocation.clone());
    let runs = host.reader().runs(&RunFilter { id, ..RunFilter::default() }).await?;
    Ok(open && runs.iter().any(|run| run.status == Status::AwaitingApproval))
}

fn told(context: &Context, record: &QuestionRecord, led: &Led) -> Result<Exit> {
    let invocation = &record.question.bound.invocation;
    let id = match led {
        Led::ToAnother(id) => id,
        Led::ToOthers | Led::On | Led::To(_) => &record.question.id,
    };
    let (state, words, exit) = match led {
        Led::ToAnother(id) => {
            let words = "the call is not what it was when that was asked, so it did not run";
            let words = format!("{words}; look at it again with `haft approve {id}`");
            ("open", words, Exit::WAITING)
        }
        Led::ToOthers => {
            let needs: Vec<String> = record.question.needs.iter().map(output::needs).collect();
            let words = format!("others have to answer too: {}", needs.join("; and "));
            ("open", words, Exit::WAITING)
        }
        Led::On | Led::To(_) => {
            ("approved", "approved; whoever made the call goes on with it".to_owned(), Exit::Done)
        }
    };
    if context.json {
        output::json(
            &json!({ "approval_id": id, "invocation_id": invocation, "state": state, "summary": words }),
        )?;
    } else {
        output::line(words)?;
        output::remark(format!("  `haft trace {invocation}` tells what becomes of it"));
    }
    Ok(exit)
}

pub(crate) async fn reject(context: &Context, arguments: Reject) -> Result<Exit> {
    let host = command::open(context, StoreChoice::IfPresent)?;
    match no(context, &host, arguments).await {
        Err(stop) => output::stop(&stop, context.json),
        Ok(record) => {
            let question = &record.question;
            if context.json {
                output::json(&json!({
                    "approval_id": question.id,
                    "invocation_id": question.bound.invocation,
                    "state": QuestionState::Rejected,
                }))?;
            } else {
                output::line(format!("rejected {}", question.id))?;
            }
            Ok(Exit::Done)
        }
    }
}

async fn no(context: &Context, host: &Host, arguments: Reject) -> Result<QuestionRecord, Stop> {
    let by = arguments.by.actor(context, host);
    let record = find::question(host, &by, &arguments.id).await?;
    still_open(&record)?;
    let reply = Reply {
        by,
        approves: false,
        reason: Some(arguments.reason),
        edited_input: None,
        always: false,
        channel: "inbox".to_owned(),
    };
    host.runtime().answer_and_run(&record.question.id, reply).await?;
    Ok(record)
}
