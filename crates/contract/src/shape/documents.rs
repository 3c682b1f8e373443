//! Document tables: the shapes of every document that Haft reads.

pub mod action;
pub mod agent_tool;
pub mod aruntime;
pub mod auth;
pub mod cli;
pub mod driver;
pub mod governance;
pub mod haft;
pub mod http;
pub mod io;
pub mod mcp;
pub mod policy;
pub mod runner;
pub mod sandbox;
pub mod sdk;
pub mod secrets;
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
    &policy::POLICY,
    &governance::RULE,
    &governance::WORKSPACE,
    &secrets::SECRETS,
    &auth::AUTH,
    &runner::RUNNER,
    &sandbox::SANDBOX,
    &io::FILES,
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

/// The JSON Schema of POLICY.md, of which there are two.
pub fn policy_schema() -> serde_json::Value {
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "POLICY.md",
        "if": { "properties": { "schema": { "const": "agentgovernance/v1" } }, "required": ["schema"] },
        "then": crate::shape::json_schema(&governance::RULE),
        "else": crate::shape::json_schema(&policy::POLICY),
    })
}

/// Every rule there is, each once, by code.
pub fn all_rules() -> Vec<Rule> {
    let mut rules: Vec<Rule> = ALL.iter().flat_map(|shape| shape.rules()).collect();
    rules.extend(crate::rules::ALL);
    rules.sort_by_key(|rule| rule.code);
    rules.dedup_by_key(|rule| rule.code);
    rules
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use haft_notation::Pattern;

    use crate::shape::{Field, FieldStanding, Shape, Takes};

    fn walk(takes: &Takes) {
        match takes {
            Takes::Formed(form) => {
                assert!(form.pattern.as_ref().is_none_or(Pattern::compiles), "{}", form.what);
            }
            Takes::List(_, inner) | Takes::Set(inner) | Takes::Nullable(inner) => walk(inner),
            Takes::Names(form, inner) => {
                form.iter().for_each(|form| walk(&Takes::Formed(form)));
                walk(inner);
            }
            Takes::Map(shape) => shape.fields.iter().for_each(|field| walk(&field.takes)),
            Takes::Kinds(_, kinds) => kinds.iter().for_each(|(_, shape)| walk(&Takes::Map(shape))),
            Takes::Either(choices) => choices.iter().for_each(walk),
            Takes::Any
            | Takes::Text(..)
            | Takes::Word(_)
            | Takes::Integer(..)
            | Takes::Number(_)
            | Takes::Flag
            | Takes::Schema
            | Takes::Object => {}
        }
    }

    #[test]
    fn every_pattern_compiles() {
        super::ALL.iter().copied().for_each(|shape| walk(&Takes::Map(shape)));
    }

    /// Each field of a shape and of the maps in it that `picked` picks, as `title field`.
    fn fields(shape: &Shape, picked: fn(&Field) -> bool, found: &mut BTreeSet<String>) {
        for field in shape.fields {
            let row = format!("{} `{}`", shape.title, field.name);
            if picked(field) {
                found.insert(row);
            }
            inside(&field.takes, picked, found);
        }
    }

    fn inside(takes: &Takes, picked: fn(&Field) -> bool, found: &mut BTreeSet<String>) {
        match takes {
            Takes::List(_, inner)
            | Takes::Set(inner)
            | Takes::Nullable(inner)
            | Takes::Names(_, inner) => inside(inner, picked, found),
            Takes::Map(shape) => fields(shape, picked, found),
            Takes::Kinds(_, kinds) => {
                kinds.iter().for_each(|(_, shape)| fields(shape, picked, found));
            }
            Takes::Either(choices) => {
                choices.iter().for_each(|choice| inside(choice, picked, found));
            }
            Takes::Any
            | Takes::Text(..)
            | Takes::Formed(_)
            | Takes::Word(_)
            | Takes::Integer(..)
            | Takes::Number(_)
            | Takes::Flag
            | Takes::Schema
            | Takes::Object => {}
        }
    }

    #[test]
    fn page_lists_every_field_that_is_recorded_alone() {
        let page = include_str!("../../../../docs/recorded-fields.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let listed: BTreeSet<String> =
            rows.filter(|row| row.contains('`')).map(str::to_owned).collect();
        let mut marked = BTreeSet::new();
        let recorded = |field: &Field| field.standing == FieldStanding::Recorded;
        super::ALL.iter().for_each(|shape| fields(shape, recorded, &mut marked));
        assert_eq!(listed, marked);
    }

    #[test]
    fn a_code_means_one_thing() {
        let tables: BTreeSet<_> =
            super::ALL.iter().flat_map(|shape| shape.rules()).map(|rule| rule.code).collect();
        // A value in a secret is refused by the table and, deeper down, by the rule of that name.
        let stated: Vec<_> = crate::rules::ALL.iter().map(|rule| rule.code).collect();
        let both: Vec<_> = stated.iter().filter(|code| tables.contains(*code)).collect();
        assert_eq!(both, [&"S040"]);
        assert_eq!(stated.iter().collect::<BTreeSet<_>>().len(), stated.len());
    }
}
