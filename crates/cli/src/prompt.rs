//! Approval prompt: asks the person at the terminal.

mod attended;
mod choice;
mod edit;
mod form;
mod hidden;

pub(crate) use attended::attend;
pub(crate) use hidden::{ask as ask_hidden, given};

use std::io::Write as _;

use haft::Host;
use haft_driver::BoxFuture;
use haft_model::{Actor, JsonFlaw, Question};
use haft_runtime::{Prompt, Reply};
use serde_json::Value;
use tokio::sync::oneshot;

use self::choice::Choice;
use crate::arguments::Misuse;
use crate::output;

/// The approver at a terminal. Answers are recorded in this person's name, whichever actor called.
pub(crate) struct Terminal<'h> {
    host: &'h Host,
    person: Actor,
}

impl<'h> Terminal<'h> {
    /// The person at this terminal.
    pub(crate) fn new(host: &'h Host, person: Actor) -> Terminal<'h> {
        Terminal { host, person }
    }

    /// Asks until an answer is on record, or the person leaves it to the inbox.
    async fn settle(&self, question: &Question) {
        if let Some(form) = &question.form {
            return self.fill_in(question, form).await;
        }
        self.show(question);
        loop {
            let Some(words) = line(&choice::menu(question.rememberable)).await else { return };
            let Some(choice) = Choice::parse(&words, question.rememberable) else { continue };
            let reply = match choice {
                Choice::Leave => return,
                Choice::Yes => self.reply(true),
                Choice::Always => Reply { always: true, ..self.reply(true) },
                Choice::No(reason) => match self.reason(reason).await {
                    Some(reason) => Reply { reason: Some(reason), ..self.reply(false) },
                    None => continue,
                },
                Choice::Edit => match self.edited(question).await {
                    Some(input) => Reply { edited_input: Some(input), ..self.reply(true) },
                    None => continue,
                },
            };
            if self.given(question, reply).await {
                return;
            }
        }
    }

    /// Whether an answer was taken. One that cannot be is explained, and asked for again.
    async fn given(&self, question: &Question, reply: Reply) -> bool {
        let taken = self.host.runtime().answer(&question.id, reply).await;
        if let Err(stop) = &taken {
            output::remark(format!("\x1b[1;31m{}\x1b[0m: {}", stop.code, stop.message));
            if let Some(help) = &stop.help {
                output::remark(format!("\x1b[1;36mhelp\x1b[0m: {help}"));
            }
        }
        taken.is_ok()
    }

    fn show(&self, question: &Question) {
        let bound = &question.bound;
        let summary = output::visible(&question.summary);
        output::remark(format!("\n\x1b[1;33m?\x1b[0m \x1b[1m{summary}\x1b[0m"));
        output::remark(format!("  tool      {}, carried out by {}", bound.tool, bound.driver));
        let input = serde_json::to_string_pretty(&question.shown_input).unwrap_or_default();
        let input = output::visible(&input);
        output::remark(format!("  input     {}", input.replace('\n', "\n            ")));
        let workspace = self.host.workspace();
        let (tool, _) = bound.tool.rsplit_once('@').unwrap_or((&bound.tool, ""));
        if let Some(entry) = workspace.snapshot().find(tool) {
            let effects = &entry.contract.effects;
            let changes: Vec<&str> = effects.mutates.iter().map(String::as_str).collect();
            let changes = match changes.is_empty() {
                true => "nothing it states".to_owned(),
                false => changes.join(", "),
            };
            let risk = format!("risk {} ({})", effects.risk, effects.risk.word());
            output::remark(format!("  changes   {changes}; {risk}"));
        }
        if !question.driver_state.is_empty() {
            let state = output::driver_state(&question.driver_state);
            output::remark(format!("  state     {state}"));
        }
        for opinion in choice::asks(&question.decision) {
            let rule = opinion.rule.as_ref().map(|rule| format!(" {rule}")).unwrap_or_default();
            let reason = output::visible(&opinion.reason);
            output::remark(format!("  asks      {}{rule}: {reason}", opinion.layer));
        }
        for needs in &question.needs {
            output::remark(format!("  answers   {}", output::needs(needs)));
        }
    }

    async fn reason(&self, given: Option<String>) -> Option<String> {
        match given {
            Some(reason) => Some(reason),
            None => {
                let words = line("why not? ").await?;
                Some(words.trim().to_owned()).filter(|words| !words.is_empty())
            }
        }
    }

    /// The input that the person would rather have.
    async fn edited(&self, question: &Question) -> Option<Value> {
        let shown = serde_json::to_string_pretty(&question.shown_input).unwrap_or_default();
        let written = match edit::editor() {
            Some(editor) => elsewhere(move || edit::in_editor(&editor, &shown)).await?,
            None => Ok(line("the whole input as JSON: ").await?),
        };
        let parsed = written.and_then(|text| match JsonFlaw::in_text(&text) {
            Some(flaw) => Err(Misuse::from(flaw).0),
            None => {
                serde_json::from_str(&text).map_err(|cause| format!("that is not JSON: {cause}"))
            }
        });
        match parsed {
            Ok(edited) => match self.host.runtime().restored(question, edited).await {
                Ok(whole) => Some(whole),
                Err(stop) => {
                    output::remark(stop.message);
                    None
                }
            },
            Err(words) => {
                output::remark(words);
                None
            }
        }
    }

    fn reply(&self, approves: bool) -> Reply {
        Reply {
            by: self.person.clone(),
            approves,
            reason: None,
            edited_input: None,
            content: None,
            always: false,
            channel: "terminal".to_owned(),
        }
    }
}

impl Prompt for Terminal<'_> {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Reply>> {
        Box::pin(async move {
            self.settle(question).await;
            None
        })
    }
}

/// A line that the person types; none at the end of what they have to say.
pub(crate) async fn line(ask: &str) -> Option<String> {
    let mut err = anstream::stderr();
    let _ = write!(err, "{ask}");
    let _ = err.flush();
    let mut asked = PromptedQuestion { answered: false };
    let typed = elsewhere(|| {
        let mut text = String::new();
        let read = std::io::stdin().read_line(&mut text);
        read.ok().filter(|count| *count > 0).map(|_| text)
    })
    .await;
    asked.answered = true;
    typed?
}

/// A question on the screen; dropped without an answer, it ends its line.
struct PromptedQuestion {
    answered: bool,
}

impl Drop for PromptedQuestion {
    fn drop(&mut self) {
        if !self.answered {
            output::remark("");
        }
    }
}

/// Waits for a person on a detached thread, which shutdown does not join: a read of the keyboard
/// cannot be cancelled.
async fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (tell, told) = oneshot::channel();
    std::thread::spawn(move || tell.send(work()));
    told.await.ok()
}
