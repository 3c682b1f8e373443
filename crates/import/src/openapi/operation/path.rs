//! Path templates: `/pets/{id}` with a placeholder for each of its parameters.

use serde_json::{Map, Value, json};

use super::inputs::Inputs;
use crate::import::Margin;
use crate::openapi::parameter::{Parameter, ParameterLocation};

/// The path as an endpoint of a driver.
pub(super) fn endpoint<'d>(
    path: &str,
    parameters: &[Parameter<'d>],
    inputs: &mut Inputs<'_, 'd>,
    margin: &mut Margin,
) -> String {
    let mut endpoint = String::new();
    let mut rest = path.split(['?', '#']).next().unwrap_or_default();
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        endpoint.push_str(&literal(before));
        let declared = |parameter: &&Parameter<'_>| {
            parameter.place == ParameterLocation::Path && parameter.wire == name
        };
        match parameters.iter().find(declared) {
            Some(parameter) => {
                if inputs.is_several(parameter) {
                    inputs.join(parameter, margin);
                }
                let input = inputs.add(parameter);
                endpoint.push_str(&parameter.in_path(&input));
            }
            None => {
                let input = inputs.add_undeclared(name);
                let why = format!("the path has `{{{name}}}` in it, and nothing says what it is");
                margin.guess(&format!("inputs.{input}"), "string", &why, "edit the contract");
                endpoint.push_str(&format!("${{input.{input}}}"));
            }
        }
        rest = after;
    }
    endpoint.push_str(&literal(rest));
    if endpoint.starts_with('/') { endpoint } else { format!("/{endpoint}") }
}

/// What of a path's text may stand in an address.
fn literal(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '\\' | '{' | '}' | '$') && !c.is_control()).collect()
}

/// Pairs that a path has behind a `?`, which some documents write there.
pub(super) fn fixed_query(path: &str) -> Map<String, Value> {
    let query = path.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let query = query.split('#').next().unwrap_or_default();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let fixed = pairs.filter(|(_, value)| !value.contains(['{', '$']));
    fixed.map(|(name, value)| (name.to_owned(), json!(value))).collect()
}
