//! `haft schema`: prints the JSON Schema of a document, for editors.

use anyhow::Result;
use clap::ValueEnum;
use haft_contract::shape::{documents, json_schema};

use crate::exit::Exit;
use crate::output;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which document.
    kind: Document,
}

#[derive(Clone, Copy, ValueEnum)]
enum Document {
    /// TOOL.md
    Tool,
    /// DRIVER.md
    Driver,
    /// ACTION.md
    Action,
    /// POLICY.md: AIP-38 grants and AIP-7 rules.
    Policy,
    /// haft.toml
    #[value(name = "haft.toml")]
    Settings,
}

pub(crate) fn run(arguments: Arguments) -> Result<Exit> {
    let schema = match arguments.kind {
        Document::Tool => json_schema(&documents::tool::TOOL),
        Document::Driver => documents::driver_schema(),
        Document::Action => json_schema(&documents::action::ACTION),
        Document::Policy => documents::policy_schema(),
        Document::Settings => json_schema(&documents::settings::SETTINGS),
    };
    output::json(&schema)?;
    Ok(Exit::Done)
}
