//! Sample calls: which tools of the suite's servers are called, and with what.

use std::collections::BTreeMap;

use haft::Host;
use serde_json::{Map, Value, json};

/// The tool whose schema is of interest, and the one that wants to see it.
const FOCUS: &str = "json_schema_2020_12_tool";
const ECHO: &str = "json_schema_echo";

/// Where the server has a list of tools and nothing behind it.
const ONLY_LISTED: &str = "json-schema-ref-no-deref";

/// The calls that a scenario names, or one of each tool that there is, by the ids of their contracts.
pub(crate) fn calls(list: &Value, context: &Value, host: &Host) -> Vec<(String, Value)> {
    if std::env::var("MCP_CONFORMANCE_SCENARIO").as_deref() == Ok(ONLY_LISTED) {
        return Vec::new();
    }
    let tools = list.get("tools").and_then(Value::as_array).into_iter().flatten();
    let named = context.get("toolCalls").and_then(Value::as_array).into_iter().flatten();
    let mut calls: Vec<(String, Value)> = named.filter_map(wanted).collect();
    if calls.is_empty() {
        calls = tools.filter_map(|tool| Some((called(tool)?, made_up(tool)))).collect();
    }
    let contracts = contracts(host);
    if let (Some((_, focus)), true) = (contracts.get(FOCUS), contracts.contains_key(ECHO)) {
        calls = vec![(ECHO.to_owned(), json!({ "schema": focus }))];
    }
    let id = |name: &str| contracts.get(name).map(|(id, _)| id.clone());
    calls.into_iter().filter_map(|(name, input)| Some((id(&name)?, input))).collect()
}

/// The id and the input schema of each contract, by the name of its tool there.
fn contracts(host: &Host) -> BTreeMap<String, (String, Value)> {
    let workspace = host.workspace();
    let entries = workspace.snapshot().entries();
    let named = entries.filter_map(|entry| {
        let tool = &entry.contract.tool;
        let name = tool.extras.exposed_as.as_deref()?.to_owned();
        Some((name, (tool.key.id.to_string(), tool.inputs.clone())))
    });
    named.collect()
}

/// A call as a scenario names it. A null stands there for what is not given.
fn wanted(call: &Value) -> Option<(String, Value)> {
    let given = call.get("arguments").and_then(Value::as_object).into_iter().flatten();
    let given = given.filter(|(_, value)| !value.is_null());
    let given: Map<_, _> = given.map(|(name, value)| (name.clone(), value.clone())).collect();
    Some((called(call)?, Value::Object(given)))
}

fn called(tool: &Value) -> Option<String> {
    tool.get("name").and_then(Value::as_str).map(str::to_owned)
}

/// An input that has everything which a tool requires.
fn made_up(tool: &Value) -> Value {
    let schema = tool.get("inputSchema").unwrap_or(&Value::Null);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let fields = required.filter_map(Value::as_str).map(|name| {
        let kind = schema.pointer(&format!("/properties/{name}/type")).and_then(Value::as_str);
        let value = match kind {
            Some("number" | "integer") => json!(2),
            Some("boolean") => json!(true),
            Some("object") => json!({}),
            Some("array") => json!([]),
            Some(_) | None => json!("text"),
        };
        (name.to_owned(), value)
    });
    Value::Object(fields.collect::<Map<_, _>>())
}
