//! `haft batch`: several calls with their dependencies, answered in order.

mod file;

use std::io::IsTerminal as _;
use std::time::Instant;

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_driver::BoxFuture;
use haft_model::{Audience, Question, Reported, Situation};
use haft_runtime::{BatchNews, CallOptions, Patience, Prompt, Reply, ResultStream};
use serde_json::json;
use tokio::sync::Mutex;

use crate::exit::Exit;
use crate::prompt::Terminal;
use crate::who::{self, As};
use crate::{Context, command, interrupt, output, telling};

/// Several calls at once. Ends with 0 if all succeeded; otherwise with the code of the worst, where
/// failed (1) is worse than timed out (124), refused (3), invalid (4), called off (130) and
/// waiting (75).
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The calls, as JSON or JSON lines of `{tool, input, id, depends_on, …}`; `-` for standard
    /// input.
    file: String,
    #[command(flatten)]
    by: As,
    /// Do not wait for approval: leave such calls pending.
    #[arg(long)]
    no_wait: bool,
    /// Print how far calls are, too, as the batch's `yield` wishes.
    #[arg(long)]
    progress: bool,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let asked = file::read(&arguments.file)?;
    let host = command::open(context, StoreChoice::Settings)?;
    command::warn_of_settings(&host.workspace());
    // As before a single call: what a dead process left behind is its own story.
    let _ = host.runtime().recover().await;
    let native = [json!({ "source": "cli", "id": std::process::id().to_string() })];
    let actor = arguments.by.actor(context, &host);
    let batch = asked.batch(&actor, "cli", &native);
    let ids: Vec<Option<String>> = batch.calls.iter().map(|call| call.id.clone()).collect();
    let terminal = OneByOne::new(Terminal::new(&host, who::person(context, &host)));
    // With calls on standard input, there is no terminal to ask at.
    let somebody = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let audience = Audience::of_call("cli", &actor);
    let tell = |question: &Question| command::call::announce(question, audience);
    let options = CallOptions {
        patience: if arguments.no_wait { Patience::Leave } else { Patience::Wait },
        prompt: (somebody && !arguments.no_wait).then_some(&terminal as &dyn Prompt),
        tell: Some(&tell),
        cancel: interrupt::listen(),
        ..CallOptions::default()
    };
    match host.runtime().batch(batch, options) {
        Ok(released) => {
            let printed = print(context, &host, released, &ids, arguments.progress);
            let worst = telling::around(&host, printed).await?;
            // Reads were answered before they were on record, and nothing tells of them later.
            let Err(fault) = host.flush().await else { return Ok(worst) };
            output::remark(format!("\x1b[1;33mwarning\x1b[0m: not all is on record: {fault}"));
            let unrecorded = Exit::Stopped(Situation::Unavailable);
            Ok(if badness(unrecorded) > badness(worst) { unrecorded } else { worst })
        }
        Err(stop) => output::stop(&stop, context.json),
    }
}

/// Prints results as they are released and on record, and ends with the worst.
async fn print(
    context: &Context,
    host: &Host,
    mut released: ResultStream<'_>,
    ids: &[Option<String>],
    progress: bool,
) -> Result<Exit> {
    let began = Instant::now();
    let mut worst = Exit::Done;
    while let Some(news) = released.news().await {
        let (index, envelope) = match news {
            // A read is answered before it is on record, and the mark says whether it is.
            BatchNews::Result { index, envelope } => {
                (index, command::recorded(host, *envelope).await)
            }
            BatchNews::Progress { index, reported } => {
                if progress {
                    self::progress(context, ids, index, &reported)?;
                }
                continue;
            }
        };
        let exit = if context.json {
            let id = ids.get(index).and_then(Option::as_ref);
            output::json_line(&json!({ "index": index, "id": id, "result": envelope }))?;
            Exit::after(&envelope)
        } else {
            output::envelope(&envelope, began.elapsed(), false)?
        };
        if badness(exit) > badness(worst) {
            worst = exit;
        }
    }
    for (index, modifiers) in released.context_modifiers().await {
        let id = ids.get(index).and_then(Option::as_ref);
        match context.json {
            true => output::json_line(
                &json!({ "index": index, "id": id, "context_modifiers": modifiers }),
            )?,
            false => {
                output::remark(format!("call {index} changes the context: {}", json!(modifiers)))
            }
        }
    }
    Ok(worst)
}

/// Prints how far a call is.
fn progress(
    context: &Context,
    ids: &[Option<String>],
    index: usize,
    reported: &Reported,
) -> Result<()> {
    let id = ids.get(index).and_then(Option::as_ref);
    if context.json {
        return output::json_line(&json!({ "index": index, "id": id, "progress": reported }));
    }
    let name = id.cloned().unwrap_or_else(|| index.to_string());
    let percent = reported.progress.percent.map(|percent| format!(" {percent:.0} %"));
    let words = reported.progress.message.as_deref().unwrap_or(&reported.status);
    output::remark(format!("{name}:{} {}", percent.unwrap_or_default(), output::visible(words)));
    Ok(())
}

/// The severity of an exit relative to others. A call that was cancelled for a failed one ranks
/// below that failure.
fn badness(exit: Exit) -> u8 {
    match exit {
        Exit::Done => 0,
        Exit::Stopped(Situation::Waiting) => 1,
        Exit::Stopped(Situation::Canceled) => 2,
        Exit::Usage | Exit::Stopped(Situation::Invalid | Situation::UnknownTool) => 3,
        Exit::Stopped(Situation::Refused) => 4,
        Exit::Stopped(Situation::TimedOut) => 5,
        Exit::Stopped(Situation::Failed) => 6,
        Exit::Stopped(Situation::Unavailable) => 7,
    }
}

/// A terminal that asks one question at a time.
struct OneByOne<'h> {
    terminal: Terminal<'h>,
    free: Mutex<()>,
}

impl<'h> OneByOne<'h> {
    fn new(terminal: Terminal<'h>) -> OneByOne<'h> {
        OneByOne { terminal, free: Mutex::new(()) }
    }
}

impl Prompt for OneByOne<'_> {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Reply>> {
        Box::pin(async move {
            let _free = self.free.lock().await;
            self.terminal.ask(question).await
        })
    }
}
