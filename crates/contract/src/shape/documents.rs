//! The tables of every document Haft reads.

pub mod action;
pub mod agent_tool;
pub mod aruntime;
pub mod cli;
pub mod driver;
pub mod haft;
pub mod http;
pub mod mcp;
pub mod sdk;
pub mod settings;
pub mod tool;

use haft_model::DriverKind;

use crate::diagnostic::Rule;
use crate::shape::Shape;

/// Every table of a whole document or of a part that has rules of its own.
pub const ALL: &[&Shape] = &[
    &tool::TOOL,
    &driver::DRIVER,
    &http::HTTP,
    &mcp::MCP,
    &sdk::SDK,
    &cli::CLI,
    &cli::KIND,
    &action::ACTION,
    &agent_tool::DECLARATION,
    &agent_tool::INTERFACE,
    &aruntime::CONTRACT,
    &settings::SETTINGS,
];

/// The JSON Schema of DRIVER.md: what every driver says, and what each kind adds.
pub fn driver_schema() -> serde_json::Value {
    let kinds = DriverKind::ALL.into_iter().filter_map(|kind| {
        let own = crate::driver::own_shape(kind)?;
        Some(serde_json::json!({
            "if": { "properties": { "kind": { "const": kind.name() } } },
            "then": crate::shape::json_schema(own),
        }))
    });
    let mut schema = crate::shape::json_schema(&driver::DRIVER);
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("allOf".into(), kinds.collect());
    }
    schema
}

/// Every rule there is, each once, by code.
pub fn all_rules() -> Vec<Rule> {
    let mut rules: Vec<Rule> = ALL.iter().flat_map(|shape| shape.rules()).collect();
    rules.extend(crate::rules::ALL);
    rules.sort_by_key(|rule| rule.code);
    rules.dedup_by_key(|rule| rule.code);
    rules
}
