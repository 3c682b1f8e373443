//! `haft tools`: the catalog, or a search in it.

use std::sync::Arc;

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_catalog::{DriverStates, Entry, Index, Outlook};
use haft_model::{Actor, Call, Code, Date, Lifecycle};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::drivers::Seen;
use crate::output::{self, Table};
use crate::{Context, command, who};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Words to search for.
    words: Vec<String>,
    /// How many to show of a search.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// For whom drivers have to be logged in; the default actor of haft.toml unless named.
    #[arg(long = "as", value_name = "ACTOR")]
    actor: Option<String>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let host = command::open(context, StoreChoice::Memory)?;
    let workspace = host.workspace();
    command::record_first_sight(&workspace);
    let actor = who::caller(context, &host, arguments.actor);
    let today = command::today();
    let found: Vec<(Arc<Entry>, Option<f64>)> = if arguments.words.is_empty() {
        workspace.snapshot().entries().map(|entry| (entry.clone(), None)).collect()
    } else {
        let index = Index::new(workspace.snapshot());
        let found = index.search(&arguments.words.join(" "), arguments.limit, |_| true);
        found.into_iter().map(|hit| (hit.found, Some(f64::from(hit.score)))).collect()
    };
    let mut rows: Vec<Row> = Vec::with_capacity(found.len());
    for (entry, score) in &found {
        rows.push(Row::new(&host, &actor, entry, *score, today).await);
    }
    let broken = if arguments.words.is_empty() { workspace.broken() } else { Vec::new() };
    if context.json {
        let mut tools: Vec<Value> = rows.iter().map(Row::json).collect();
        tools.extend(broken.iter().map(|broken| {
            json!({
                "id": broken.id, "state": "invalid", "reason": broken.reason, "file": broken.file,
            })
        }));
        output::json(&json!({ "tools": tools }))?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() && broken.is_empty() {
        output::line("no tool matches")?;
        return Ok(Exit::Done);
    }
    let own = broken.len() + rows.iter().filter(|row| !row.entry.is_given()).count();
    let mut table = Table::new(&["TOOL", "VERSION", "RISK", "STATE", "DRIVERS", "ABOUT"]);
    for row in &rows {
        table.row(row.cells());
    }
    for broken in broken {
        let cells =
            [broken.id, "-".into(), "-".into(), "invalid".into(), "-".into(), broken.reason];
        table.row(cells.into());
    }
    table.print()?;
    if own == 0 && arguments.words.is_empty() {
        output::remark("no tools of your own yet: write .tools/<id>/TOOL.md, or run `haft init`");
    }
    Ok(Exit::Done)
}

/// One contract in the list.
struct Row<'a> {
    entry: &'a Entry,
    score: Option<f64>,
    state: &'static str,
    reason: Option<String>,
    outlook: Outlook,
}

impl<'a> Row<'a> {
    async fn new(
        host: &Host,
        actor: &Actor,
        entry: &'a Entry,
        score: Option<f64>,
        today: Date,
    ) -> Row<'a> {
        let states = host.driver_states(entry, actor).await;
        let outlook = Outlook { states, ..Outlook::default() };
        let (state, reason) = state(host, actor, entry, today, &outlook);
        Row { entry, score, state, reason, outlook }
    }

    fn drivers(&self) -> impl Iterator<Item = Seen<'_>> {
        let states: &DriverStates = &self.outlook.states;
        self.entry.bindings.iter().map(|binding| Seen::new(binding, states))
    }

    fn cells(&self) -> Vec<String> {
        let tool = &self.entry.contract.tool;
        let drivers: Vec<String> = self.drivers().map(|seen| seen.named()).collect();
        let about = self.reason.clone().unwrap_or_else(|| first_sentence(&tool.description));
        vec![
            tool.key.id.to_string(),
            tool.version.to_string(),
            self.entry.contract.effects.risk.to_string(),
            self.state.into(),
            if drivers.is_empty() { "none".into() } else { drivers.join(", ") },
            about,
        ]
    }

    fn json(&self) -> Value {
        let contract = &self.entry.contract;
        let drivers: Vec<Value> = self.drivers().map(|seen| seen.json()).collect();
        let mut row = json!({
            "id": contract.key().id,
            "key": contract.key(),
            "version": contract.tool.version,
            "name": contract.title(),
            "description": contract.tool.description,
            "risk_level": contract.effects.risk,
            "state": self.state,
            "reason": self.reason,
            "drivers": drivers,
        });
        if let (Some(score), Some(fields)) = (self.score, row.as_object_mut()) {
            fields.insert("score".into(), json!(score));
        }
        row
    }
}

/// Whether a contract can be called now, and if not, why.
fn state(
    host: &Host,
    actor: &Actor,
    entry: &Entry,
    today: Date,
    outlook: &Outlook,
) -> (&'static str, Option<String>) {
    if let Some(block) = entry.blocked(today) {
        return ("blocked", Some(block.message));
    }
    let call = Call::new(actor.clone(), entry.contract.key().to_string(), Value::Null);
    let workspace = host.workspace();
    let explained = workspace.snapshot().explain(&call, None, today, outlook);
    match explained.map(|explained| explained.route) {
        Ok(Ok(_)) if entry.lifecycle(today) == Lifecycle::Deprecated => ("deprecated", None),
        Ok(Ok(_)) => ("ready", None),
        Ok(Err(stop)) | Err(stop) => {
            let state = match stop.code {
                Code::SetupRequired => "needs setup",
                Code::CredentialMissing => "needs login",
                Code::DependencyUnavailable => "unavailable",
                _ => "no route",
            };
            let run = stop.help.filter(|help| help.starts_with("run "));
            let run = run.map(|help| format!("; {help}")).unwrap_or_default();
            (state, Some(format!("{}{run}", stop.message)))
        }
    }
}

fn first_sentence(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.split_inclusive(". ").next().unwrap_or(line).trim().to_owned()
}
