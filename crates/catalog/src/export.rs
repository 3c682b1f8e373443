//! Tool export: contracts in provider formats, with a degradation for everything a format cannot
//! carry.
//!
//! Inputs that no model may fill in appear in no format.

mod agent_tool;
mod anthropic;
mod gemini;
mod inline;
mod loss;
mod mcp;
mod merge;
mod openai;
mod root;
mod shown;
mod type_keyword;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use haft_contract::{Contract, Driver};
use haft_model::{Lifecycle, ToolKey};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::WireNames;
use loss::Losses;
pub use mcp::shows_output_schema;

/// The formats that contracts are exported in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenAI's function tools.
    OpenAi,
    /// Anthropic's `tools`.
    Anthropic,
    /// Gemini's function declarations.
    Gemini,
    /// The result of MCP's `tools/list`.
    Mcp,
    /// The records of Agent Tool v0.2.0.
    AgentTool,
}

impl Format {
    /// Every format that contracts are exported in.
    pub const ALL: [Format; 5] =
        [Format::OpenAi, Format::Anthropic, Format::Gemini, Format::Mcp, Format::AgentTool];

    /// The spelling on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::OpenAi => "openai",
            Format::Anthropic => "anthropic",
            Format::Gemini => "gemini",
            Format::Mcp => "mcp",
            Format::AgentTool => "agent-tool",
        }
    }

    /// Reads the spelling on the command line.
    pub fn parse(text: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == text)
    }
}

/// One contract to export, with the driver that would serve it and its lifecycle stage today.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The contract to export.
    pub contract: &'a Contract,
    /// The driver that would serve it.
    pub driver: Option<&'a Driver>,
    /// The lifecycle stage of the contract today.
    pub lifecycle: Lifecycle,
}

/// The result of an export.
#[derive(Clone, Debug)]
pub struct Export {
    /// The document in the format asked for.
    pub document: Json,
    /// The features that the format cannot carry.
    pub degradations: Vec<Degradation>,
    /// The exported name of each tool, so that a call finds its way back.
    pub names: Vec<(String, ToolKey)>,
}

/// One feature that a format cannot carry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Degradation {
    /// The tool, as `id@major`.
    pub tool: String,
    /// A JSON pointer into the contract's frontmatter.
    pub field: String,
    /// How the export weakened or dropped it.
    pub reason: String,
}

/// Writes the offers in a format, in the order of their ids, under their wire names.
pub fn export(format: Format, offers: &[Offer<'_>], names: &WireNames) -> Export {
    let mut degradations = Vec::new();
    let offers = distinct(offers, &mut degradations);
    match format {
        Format::OpenAi => {
            let tools = declared(&offers, names, openai::declare, &mut degradations);
            tools.into_export(Json::Array, degradations)
        }
        Format::Anthropic => {
            let tools = declared(&offers, names, anthropic::declare, &mut degradations);
            tools.into_export(Json::Array, degradations)
        }
        Format::Gemini => {
            let tools = declared(&offers, names, gemini::declare, &mut degradations);
            tools.into_export(|tools| json!([{ "functionDeclarations": tools }]), degradations)
        }
        Format::Mcp => {
            let tools = declared(&offers, names, mcp::declare, &mut degradations);
            tools.into_export(|tools| json!({ "tools": tools }), degradations)
        }
        Format::AgentTool => {
            let named = |offer: &Offer<'_>| (offer.contract.key().to_string(), key(offer));
            let names = offers.iter().map(named).collect();
            Export { document: agent_tool::records(&offers), degradations, names }
        }
    }
}

/// How a provider's format says one tool; nothing where it cannot be said at all.
type Declare = fn(&Offer<'_>, &str, &mut Losses) -> Option<Json>;

/// Tools in a provider's format, with the names they go by.
#[derive(Default)]
struct ExportedTools {
    tools: Vec<Json>,
    names: Vec<(String, ToolKey)>,
}

impl ExportedTools {
    fn into_export(
        self,
        document: impl FnOnce(Vec<Json>) -> Json,
        degradations: Vec<Degradation>,
    ) -> Export {
        Export { document: document(self.tools), degradations, names: self.names }
    }
}

fn declared(
    offers: &[Offer<'_>],
    names: &WireNames,
    declare: Declare,
    degradations: &mut Vec<Degradation>,
) -> ExportedTools {
    let mut declared = ExportedTools::default();
    for offer in offers {
        let key = offer.contract.key();
        let Some(name) = names.name(key).filter(|_| selectable(offer, degradations)) else {
            continue;
        };
        let mut losses = Losses::of(key);
        if let Some(tool) = declare(offer, name, &mut losses) {
            declared.tools.push(tool);
            declared.names.push((name.to_string(), key.clone()));
        }
        degradations.extend(losses.into_lines());
    }
    declared
}

/// Whether a model may newly select the tool (AT-10).
fn selectable(offer: &Offer<'_>, degradations: &mut Vec<Degradation>) -> bool {
    let mut losses = Losses::of(&key(offer));
    let selectable = match offer.lifecycle {
        Lifecycle::Available => true,
        Lifecycle::Deferred => {
            losses.add("/metadata/haft/lifecycle", "its schema is not loaded on demand");
            true
        }
        Lifecycle::Deprecated => {
            let reason = "left out: a deprecated tool is not offered to new callers";
            losses.add("/metadata/haft/lifecycle", reason);
            false
        }
        Lifecycle::Draft | Lifecycle::Disabled | Lifecycle::RequiresSetup | Lifecycle::Retired => {
            let reason = format!("left out: the tool is {}", offer.lifecycle.name());
            losses.add("/metadata/haft/lifecycle", reason);
            false
        }
    };
    degradations.extend(losses.into_lines());
    selectable
}

/// One offer for each key, in the order of keys.
fn distinct<'a>(offers: &[Offer<'a>], degradations: &mut Vec<Degradation>) -> Vec<Offer<'a>> {
    let mut by_key = BTreeMap::new();
    for offer in offers {
        match by_key.entry(key(offer)) {
            Entry::Vacant(place) => {
                place.insert(*offer);
            }
            Entry::Occupied(place) => {
                let mut losses = Losses::of(place.key());
                losses.add("/id", "offered more than once; the first offer is exported");
                degradations.extend(losses.into_lines());
            }
        }
    }
    by_key.into_values().collect()
}

fn key(offer: &Offer<'_>) -> ToolKey {
    offer.contract.key().clone()
}
