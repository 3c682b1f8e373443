//! `haft call`: one call through the whole pipeline.

use std::io::IsTerminal as _;
use std::time::Instant;

use anyhow::Result;
use haft::Host;
use haft_model::{Audience, Call, Code, Question, Trace};
use haft_runtime::{CallOptions, Patience, Prompt, Receipt};
use serde_json::{Value, json};

use crate::arguments::{Input, Wishes};
use crate::exit::Exit;
use crate::prompt::Terminal;
use crate::who::{self, As};
use crate::{Context, command, interrupt, output, telling};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The tool: an id, `id@major`, or an alias.
    tool: String,
    #[command(flatten)]
    input: Input,
    /// Idempotency key: a repeat returns the first result.
    #[arg(long)]
    key: Option<String>,
    #[command(flatten)]
    by: As,
    /// Do not wait for approval: leave the call pending and exit 75.
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    wishes: Wishes,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = match command::open_for_call(context, &arguments.tool)? {
        Ok(host) => host,
        Err(stop) => return output::stop(&stop, context.json),
    };
    command::warn_of_settings(&host.workspace());
    // Recovery of calls that a dead process left. Its outcome has records of its own and does not
    // affect this call.
    let _ = host.runtime().recover().await;
    let call = build(context, &host, &arguments)?;
    telling::around(&host, make(context, &host, call, patience(arguments.no_wait))).await
}

/// The approval patience that `--no-wait` sets.
pub(super) fn patience(no_wait: bool) -> Patience {
    if no_wait { Patience::Leave } else { Patience::Wait }
}

/// Makes a call, asks the person at the terminal where approval is needed, and shows the result.
pub(super) async fn make(
    context: &Context,
    host: &Host,
    call: Call,
    patience: Patience,
) -> Result<Exit> {
    let terminal = Terminal::new(host, who::person(context, host));
    let at_hand = patience == Patience::Wait && somebody_is_here();
    let audience = Audience::of_call(call.channel, &call.actor);
    let tell = |question: &Question| announce(question, audience);
    let options = CallOptions {
        patience,
        prompt: at_hand.then_some(&terminal as &dyn Prompt),
        tell: Some(&tell),
        cancel: interrupt::listen(),
        receipt: Receipt::Acknowledged,
        ..CallOptions::default()
    };
    let began = Instant::now();
    let tool = call.tool.clone();
    let envelope = command::recorded(host, host.runtime().call(call, options).await).await;
    let exit = output::envelope(&envelope, began.elapsed(), context.json)?;
    // Remote callers do not see what is wrong with files; the person at the terminal may fix them.
    if envelope.error.as_ref().is_some_and(|error| error.error_code == Code::ToolUnknown)
        && let Some(why) = command::broken(&host.workspace(), &tool)
    {
        output::remark(output::visible(&why));
    }
    host.runtime().confirm_delivery(&envelope.invocation_id).await;
    Ok(exit)
}

fn build(context: &Context, host: &Host, arguments: &Arguments) -> Result<Call> {
    let workspace = host.workspace();
    let known = workspace.snapshot().find_called(&arguments.tool, |_| true);
    let schema = known.map(|entry| entry.contract.model_schema()).unwrap_or_default();
    let mut call = Call::new(
        arguments.by.actor(context, host),
        arguments.tool.clone(),
        Value::Object(Default::default()),
    );
    match arguments.input.sent()? {
        Some(text) => {
            // Whether it is JSON is for the pipeline to say, and to record.
            call.input = serde_json::from_str(&text).unwrap_or_default();
            call.sent = Some(text);
        }
        None => {
            if let Some(input) = arguments.input.read(&schema)? {
                call.input = input;
            }
            call.flaw = arguments.input.flaw(&schema)?;
        }
    }
    arguments.wishes.apply(&mut call)?;
    call.key.clone_from(&arguments.key);
    call.channel = "cli";
    call.native = vec![json!({ "source": "cli", "id": std::process::id().to_string() })];
    let trace = std::env::var("TRACEPARENT").ok();
    call.native.extend(trace.and_then(|trace| Trace::parse(&trace)).map(|trace| trace.reference()));
    Ok(call)
}

/// Whether there is a person who can be asked right here.
pub(super) fn somebody_is_here() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Says that a question waits, and how it is answered.
pub(crate) fn announce(question: &Question, audience: Audience) {
    output::remark(format!("\x1b[33m?\x1b[0m {}", output::visible(&question.summary)));
    let fields = match &question.form {
        Some(form) => {
            output::form(form).iter().for_each(output::remark);
            if form.fields().next().is_some() { " --field …" } else { "" }
        }
        None => "",
    };
    let id = &question.id;
    output::remark(match audience {
        Audience::Person => format!("  waiting; answer with `haft approve {id}{fields}`"),
        Audience::Agent => format!("  waiting; a person has to decide ({id})"),
    });
}
