//! Event records: ledger entries in the standard's form.

use haft_model::record::SCHEMA_VERSION;
use serde_json::{Map, Value, json};

use crate::line::EntryLine;
use crate::{Error, LedgerEntry};

/// The event records of one entry, in order.
pub fn events(entry: &LedgerEntry) -> Result<Vec<Value>, Error> {
    EntryLine::read(entry).map(|line| of(&line, None))
}

/// The event records of a line. The tool is that of the call where it is known, else the line's
/// subject.
pub(super) fn of(line: &EntryLine, tool: Option<&str>) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for fact in &line.facts {
        // An event always serializes as a tag and its content.
        let Ok(Value::Object(mut event)) = serde_json::to_value(&fact.event) else { continue };
        let class = event.remove("type").unwrap_or_default();
        let data = event.remove("data").filter(Value::is_object).unwrap_or_else(|| json!({}));
        all.push(record(line, all.len(), class, fact.at.to_string(), data, tool));
    }
    if let Some(digest) = &line.forgot {
        let data = json!({"digest": digest});
        let class = json!("haft.payload.forgotten");
        all.push(record(line, all.len(), class, line.ts.to_string(), data, tool));
    }
    all
}

fn record(
    line: &EntryLine,
    index: usize,
    class: Value,
    time: String,
    data: Value,
    tool: Option<&str>,
) -> Value {
    let mut record = Map::new();
    let mut set = |name: &str, value: Value| record.insert(name.to_owned(), value);
    set("schema_version", json!(SCHEMA_VERSION));
    set("event_id", json!(format!("evt_{}_{index}", line.seq)));
    set("event_type", class);
    set("source", json!("haft"));
    set("time", json!(time));
    set("seq", json!(line.seq));
    if let Some(subject) = &line.subject {
        set("subject", json!(subject));
    }
    if let Some(id) = &line.invocation {
        set("invocation_id", json!(id));
    }
    if let Some(tool) = tool.or(line.subject.as_deref()) {
        set("tool_id", json!(tool));
    }
    if let Some(tenant) = &line.tenant {
        set("tenant", json!(tenant));
    }
    set("data", data);
    Value::Object(record)
}
