//! `haft test`: runs the examples of contracts against every driver that claims them.

use std::sync::Arc;

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_catalog::{Binding, CatalogEntry};
use haft_contract::Example;
use haft_driver::differs;
use haft_driver::{BoxFuture, Cancel};
use haft_model::{Actor, Call, Code, Envelope, Question, Situation, Tri};
use haft_runtime::{CallOptions, Patience, Prompt, Reply};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::{self, Table};
use crate::{Context, command, interrupt, who};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// One tool; all of the workspace's own when absent.
    tool: Option<String>,
    /// Run the examples of tools that change something, too. What they change stays changed.
    #[arg(long)]
    mutating: bool,
}

/// The result of one example with one driver.
struct ExampleResult {
    tool: String,
    example: String,
    driver: String,
    came: Came,
}

enum Came {
    Ok,
    Failed(String),
    Skipped(String),
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    // A trial run is no call that an actor answers for, so it leaves no record.
    let host = command::open(context, StoreChoice::Memory)?;
    let workspace = host.workspace();
    let snapshot = workspace.snapshot();
    let chosen: Vec<Arc<CatalogEntry>> = match &arguments.tool {
        Some(name) => match snapshot.find_called(name, |_| true) {
            Some(entry) => vec![entry.clone()],
            None => return output::stop(&command::unknown(&workspace, name), context.json),
        },
        None => snapshot.entries().filter(|entry| !entry.is_given()).cloned().collect(),
    };
    let trial = Trial {
        host: &host,
        person: who::person(context, &host),
        mutating: arguments.mutating,
        cancel: interrupt::listen(),
    };
    let mut tried = Vec::new();
    for entry in &chosen {
        for example in &entry.contract.tool.examples {
            for binding in &entry.bindings {
                tried.push(trial.tries(entry, example, binding).await);
            }
        }
    }
    report(context, &tried)
}

/// How examples are tried.
struct Trial<'h> {
    host: &'h Host,
    person: Actor,
    mutating: bool,
    cancel: Cancel,
}

impl Trial<'_> {
    async fn tries(
        &self,
        entry: &CatalogEntry,
        example: &Example,
        binding: &Binding,
    ) -> ExampleResult {
        let tool = entry.contract.key().to_string();
        let driver = binding.driver.id.clone();
        let changes = entry.contract.effects.facts.read_only != Tri::Yes;
        let came = match &binding.refused {
            Some(why) => Came::Skipped(why.clone()),
            None if changes && !self.mutating => {
                Came::Skipped("it may change something; add --mutating".to_owned())
            }
            None => {
                let mut call = Call::new(self.person.clone(), tool.clone(), example.input.clone());
                call.pinned = Some(driver.clone());
                call.channel = "cli";
                call.native = vec![json!({ "source": "cli", "id": "test" })];
                let options = CallOptions {
                    // No person is there to fill in a form of a backend.
                    patience: Patience::Leave,
                    prompt: Some(self),
                    cancel: self.cancel.clone(),
                    ..CallOptions::default()
                };
                held(&self.host.runtime().call(call, options).await, example.output.as_ref())
            }
        };
        ExampleResult { tool, example: example.name.clone(), driver: driver.to_string(), came }
    }
}

impl Prompt for Trial<'_> {
    /// The person who starts a test that changes something has approved its effects.
    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<Reply>> {
        let reply = Reply {
            by: self.person.clone(),
            approves: true,
            reason: Some("`haft test --mutating`".to_owned()),
            edited_input: None,
            content: None,
            always: false,
            channel: "terminal".to_owned(),
        };
        Box::pin(async { Some(reply) })
    }
}

/// The result against what the contract promises.
fn held(envelope: &Envelope, expected: Option<&Value>) -> Came {
    if let Some(error) = &envelope.error {
        let words = format!("{}: {}", error.error_code, error.message);
        let not_reached = matches!(error.situation(), Situation::Refused)
            || matches!(error.error_code, Code::SetupRequired | Code::CredentialMissing)
            || matches!(error.error_code, Code::RouteNone | Code::RoutePinUnavailable);
        return if not_reached { Came::Skipped(words) } else { Came::Failed(words) };
    }
    let given = envelope.output().unwrap_or_default();
    differs(expected, &given).map_or(Came::Ok, Came::Failed)
}

fn report(context: &Context, tried: &[ExampleResult]) -> Result<Exit> {
    let word = |tried: &ExampleResult| match &tried.came {
        Came::Ok => ("ok", None),
        Came::Failed(why) => ("failed", Some(why.clone())),
        Came::Skipped(why) => ("skipped", Some(why.clone())),
    };
    let failed = tried.iter().filter(|tried| word(tried).0 == "failed").count();
    if context.json {
        let rows = tried.iter().map(|tried| {
            let (outcome, reason) = word(tried);
            json!({
                "tool": tried.tool, "example": tried.example, "driver": tried.driver,
                "outcome": outcome, "reason": reason,
            })
        });
        output::json(&json!({ "examples": rows.collect::<Vec<_>>() }))?;
    } else if tried.is_empty() {
        output::line("no contract has an example that a driver claims")?;
    } else {
        let mut table = Table::new(&["TOOL", "EXAMPLE", "DRIVER", "CAME", "WHY"]);
        for one in tried {
            let (outcome, reason) = word(one);
            table.row(vec![
                one.tool.clone(),
                one.example.clone(),
                one.driver.clone(),
                outcome.to_owned(),
                reason.unwrap_or_default(),
            ]);
        }
        table.print()?;
        let count = |wanted: &str| tried.iter().filter(|tried| word(tried).0 == wanted).count();
        let (ok, skipped) = (count("ok"), count("skipped"));
        output::line(format!("{ok} ok, {failed} failed, {skipped} skipped"))?;
    }
    Ok(if failed > 0 { Exit::FAILED } else { Exit::Done })
}
