//! `haft approve` and `haft reject`: answer a question of the approval inbox.

use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_ledger::{QuestionFilter, QuestionRecord};
use haft_model::{Audience, Code, QuestionState, Stop};
use haft_runtime::{Led, Reply};
use serde_json::{Value, json};

use super::call;
use crate::arguments::{Input, Misuse};
use crate::exit::Exit;
use crate::who::As;
use crate::{Context, arguments, command, find, output, telling};

/// The polling interval of a call that runs here.
const LOOK: Duration = Duration::from_millis(300);

#[derive(clap::Args)]
pub(crate) struct Approve {
    /// The question, or its call: an id, or the beginning of one.
    id: String,
    /// Make the approval standing for calls like this one, until it is revoked.
    #[arg(long)]
    always: bool,
    /// An input to use instead, as JSON or `@FILE`.
    #[arg(long, value_name = "JSON|@FILE")]
    edit: Option<String>,
    /// A field of a form that a backend wants filled in.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "edit")]
    field: Vec<String>,
    /// All fields of such a form, as JSON or `@FILE`.
    #[arg(long, value_name = "JSON|@FILE", conflicts_with_all = ["edit", "field"])]
    fields: Option<String>,
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
    /// Reason of the rejection; the caller sees it.
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    by: As,
}

pub(crate) async fn approve(context: &Context, arguments: Approve) -> Result<Exit> {
    let edit = arguments.edit.as_deref().map(arguments::exact_json_or_file).transpose()?;
    // Parsed before anything is opened, so that a typo is reported at once.
    let fields = Input { words: arguments.field.clone(), input: arguments.fields.clone() };
    fields.read(&Value::Null)?;
    let host = command::open(context, StoreChoice::IfPresent)?;
    let given = AnswerArguments { edit, fields };
    telling::around(&host, approved(context, &host, &arguments, given)).await
}

/// The arguments of an approval.
struct AnswerArguments {
    edit: Option<Value>,
    fields: Input,
}

async fn approved(
    context: &Context,
    host: &Host,
    arguments: &Approve,
    given: AnswerArguments,
) -> Result<Exit> {
    let began = Instant::now();
    match yes(context, host, arguments, given).await {
        Err(stop) => output::stop(&stop, context.json),
        Ok((record, Led::To(envelope))) => {
            let envelope = Box::new(command::recorded(host, *envelope).await);
            let exit = output::envelope(&envelope, began.elapsed(), context.json)?;
            // Any other caller gets the result by repeating the call.
            if record.question.bound.actor == arguments.by.actor(context, host).id {
                host.runtime().confirm_delivery(&envelope.invocation_id).await;
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
    given: AnswerArguments,
) -> Result<(QuestionRecord, Led), Stop> {
    let by = arguments.by.actor(context, host);
    let record = find::question(host, &by, &arguments.id).await?;
    let schema = record.question.form.as_ref().map(|form| form.schema.clone()).unwrap_or_default();
    let misused = |misuse: Misuse| Stop::new(Code::InputValue, misuse.to_string());
    let content = given.fields.read(&schema).map_err(misused)?;
    if let Some(flaw) = given.fields.flaw(&schema).map_err(misused)? {
        return Err(flaw.stop());
    }
    let reply = Reply {
        by,
        approves: true,
        reason: arguments.reason.clone(),
        edited_input: given.edit,
        content,
        always: arguments.always,
        channel: "inbox".to_owned(),
    };
    let led = telling_of_forms(host, &record, host.runtime().reply(&record, reply)).await?;
    Ok((record, led))
}

/// Waits for the result of an approved call. Where it runs here and its backend sends a form
/// meanwhile, the waiting person is told.
async fn telling_of_forms(
    host: &Host,
    answered: &QuestionRecord,
    led: impl Future<Output = Result<Led, Stop>>,
) -> Result<Led, Stop> {
    let invocation = Some(answered.question.bound.invocation.clone());
    let filter = QuestionFilter { invocation, open: true, ..QuestionFilter::default() };
    let mut told = vec![answered.question.id.clone()];
    let mut led = pin!(led);
    loop {
        if let Ok(led) = tokio::time::timeout(LOOK, &mut led).await {
            return led;
        }
        for record in host.runtime().questions(&filter).await.unwrap_or_default() {
            let question = record.question;
            if question.form.is_some() && !told.contains(&question.id) {
                call::announce(&question, Audience::Person);
                told.push(question.id);
            }
        }
    }
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
            ("approved", "approved; the caller goes on with the call".to_owned(), Exit::Done)
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
    match telling::around(&host, no(context, &host, arguments)).await {
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
    let reply = Reply {
        by,
        approves: false,
        reason: Some(arguments.reason),
        edited_input: None,
        content: None,
        always: false,
        channel: "inbox".to_owned(),
    };
    host.runtime().reply(&record, reply).await?;
    Ok(record)
}
