//! `haft tools`: the catalog, or a search in it.

use std::sync::Arc;

use anyhow::Result;
use haft::Workspace;
use haft_catalog::{Entry, Index};
use haft_model::{ActorId, Call, Date, Lifecycle};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::{self, Table};
use crate::{Context, command};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Words to search for.
    words: Vec<String>,
    /// How many to show of a search.
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

pub(crate) fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let workspace = command::load(context)?;
    let today = command::today();
    let found: Vec<(Arc<Entry>, Option<f64>)> = if arguments.words.is_empty() {
        workspace.snapshot().entries().map(|entry| (entry.clone(), None)).collect()
    } else {
        let found = Index::new(workspace.snapshot()).search(&arguments.words.join(" "));
        found.into_iter().take(arguments.limit).map(|(entry, score)| (entry, Some(score))).collect()
    };
    let rows: Vec<Row> =
        found.iter().map(|(entry, score)| Row::new(&workspace, entry, *score, today)).collect();
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
}

impl<'a> Row<'a> {
    fn new(workspace: &Workspace, entry: &'a Entry, score: Option<f64>, today: Date) -> Row<'a> {
        let (state, reason) = state(workspace, entry, today);
        Row { entry, score, state, reason }
    }

    fn cells(&self) -> Vec<String> {
        let tool = &self.entry.contract.tool;
        let drivers: Vec<&str> =
            self.entry.bindings.iter().map(|binding| binding.driver.id.as_str()).collect();
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
        let drivers: Vec<Value> = self
            .entry
            .bindings
            .iter()
            .map(|binding| {
                json!({
                    "id": binding.driver.id,
                    "kind": binding.driver.kind,
                    "refused": binding.refused,
                })
            })
            .collect();
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
fn state(workspace: &Workspace, entry: &Entry, today: Date) -> (&'static str, Option<String>) {
    if let Some(block) = entry.blocked(today) {
        return ("blocked", Some(block.message));
    }
    let call =
        Call::new(ActorId::from("user:local"), entry.contract.key().to_string(), Value::Null);
    let route = workspace.snapshot().explain(&call, None, today).map(|explained| explained.route);
    match route {
        Ok(Ok(_)) if entry.lifecycle(today) == Lifecycle::Deprecated => ("deprecated", None),
        Ok(Ok(_)) => ("ready", None),
        Ok(Err(stop)) | Err(stop) => ("no route", Some(stop.message)),
    }
}

fn first_sentence(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.split_inclusive(". ").next().unwrap_or(line).trim().to_owned()
}
