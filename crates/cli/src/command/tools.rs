//! `haft tools`: lists or searches the catalog.

use std::sync::Arc;

use anyhow::Result;
use haft::{Host, StoreChoice};
use haft_catalog::{CatalogEntry, Index, Outlook};
use haft_model::{Actor, Date};
use serde_json::{Value, json};

use crate::exit::Exit;
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
    let actor = who::caller(context, &host, arguments.actor);
    let today = command::today();
    let found: Vec<(Arc<CatalogEntry>, Option<f64>)> = if arguments.words.is_empty() {
        workspace.snapshot().entries().map(|entry| (entry.clone(), None)).collect()
    } else {
        let index = Index::new(workspace.snapshot());
        let found = index.search(&arguments.words.join(" "), arguments.limit, |_| true);
        found.into_iter().map(|hit| (hit.found, Some(f64::from(hit.score)))).collect()
    };
    let mut rows: Vec<ToolRow> = Vec::with_capacity(found.len());
    for (entry, score) in &found {
        rows.push(ToolRow::new(&host, &actor, entry, *score, today).await);
    }
    let broken = if arguments.words.is_empty() { workspace.broken() } else { Vec::new() };
    if context.json {
        let mut tools: Vec<Value> = rows.iter().map(ToolRow::json).collect();
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
struct ToolRow<'a> {
    entry: &'a CatalogEntry,
    score: Option<f64>,
    state: &'static str,
    reason: Option<String>,
    outlook: Outlook,
}

impl<'a> ToolRow<'a> {
    async fn new(
        host: &Host,
        actor: &Actor,
        entry: &'a CatalogEntry,
        score: Option<f64>,
        today: Date,
    ) -> ToolRow<'a> {
        let states = host.driver_states(entry, actor).await;
        let outlook = Outlook { states, ..Outlook::default() };
        let workspace = host.workspace();
        let (state, reason) = workspace.snapshot().standing(entry, actor, today, &outlook);
        ToolRow { entry, score, state, reason, outlook }
    }

    fn cells(&self) -> Vec<String> {
        let tool = &self.entry.contract.tool;
        let drivers: Vec<String> =
            self.entry.seen(&self.outlook.states).map(|seen| seen.named()).collect();
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
        let reason = self.reason.as_deref();
        let mut row = self.entry.listed(self.state, reason, &self.outlook.states);
        if let (Some(score), Some(fields)) = (self.score, row.as_object_mut()) {
            fields.insert("score".into(), json!(score));
        }
        row
    }
}

fn first_sentence(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.split_inclusive(". ").next().unwrap_or(line).trim().to_owned()
}
