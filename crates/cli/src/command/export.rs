//! `haft export`: prints the surface in the formats of model providers.

use anyhow::Result;
use clap::ValueEnum;
use haft_catalog::export::{Format, Offer, export};
use haft_model::ToolKey;

use crate::exit::Exit;
use crate::{Context, command, output};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Whose format.
    format: ExportFormat,
    /// Only these tools.
    tools: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ExportFormat {
    /// OpenAI function tools.
    Openai,
    /// Anthropic tools.
    Anthropic,
    /// Gemini function declarations.
    Gemini,
    /// An MCP `tools/list` result.
    Mcp,
    /// Agent Tool v0.2.0 records.
    AgentTool,
}

pub(crate) fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let workspace = command::load(context)?;
    let snapshot = workspace.snapshot();
    let today = command::today();
    let mut wanted: Vec<ToolKey> = Vec::new();
    for name in &arguments.tools {
        match snapshot.find_called(name, |_| true) {
            Some(entry) => wanted.push(entry.contract.key().clone()),
            None => return output::stop(&snapshot.unknown(name), context.json),
        }
    }
    let entries: Vec<_> = snapshot
        .entries()
        .filter(|entry| wanted.is_empty() || wanted.contains(entry.contract.key()))
        // A contract that drifted from what was accepted is not exported.
        .filter(|entry| entry.block.is_none())
        .collect();
    let offers: Vec<Offer<'_>> = entries
        .iter()
        .map(|entry| Offer {
            contract: &entry.contract,
            driver: entry.bindings.iter().find(|b| b.refused.is_none()).map(|b| &*b.driver),
            lifecycle: entry.lifecycle(today),
        })
        .collect();
    let format = match arguments.format {
        ExportFormat::Openai => Format::OpenAi,
        ExportFormat::Anthropic => Format::Anthropic,
        ExportFormat::Gemini => Format::Gemini,
        ExportFormat::Mcp => Format::Mcp,
        ExportFormat::AgentTool => Format::AgentTool,
    };
    let exported = export(format, &offers, snapshot.wire_names());
    output::json(&exported.document)?;
    for lost in &exported.degradations {
        output::remark(format!("note: {}: {}: {}", lost.tool, lost.field, lost.reason));
    }
    Ok(Exit::Done)
}
