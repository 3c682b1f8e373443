//! Foreign record import: recognizes Agent Tool records of other writers and versions, upgrades
//! them, and preserves unknown fields.

use haft_model::Status;
use haft_model::record::SCHEMA_VERSION;
use serde::Serialize;
use serde_json::{Map, Value};

/// Kind detection, in order: the fields that a kind has and the kinds before it lack.
const KINDS: [(&str, &[&str]); 15] = [
    ("event", &["event_id", "event_type"]),
    ("progress", &["progress_id"]),
    ("hook", &["hook_id"]),
    ("input-mutation", &["mutation_id"]),
    ("result-persistence", &["decision_id", "strategy"]),
    ("permission-decision", &["decision_id"]),
    ("result", &["result_id"]),
    ("scheduler-policy", &["scheduler_policy_id"]),
    ("permission-profile", &["permission_profile_id"]),
    ("execution-profile", &["execution_profile_id"]),
    ("tool-interface", &["interface_id"]),
    ("deferred-tool", &["loading_state"]),
    ("invocation", &["invocation_id"]),
    ("tool-surface", &["surface_id"]),
    ("tool-declaration", &["tool_id"]),
];

/// Events renamed since 0.1.
const RENAMED: [(&str, &str); 2] = [
    ("tool.invocation.approval_requested", "tool.permission.requested"),
    ("tool.invocation.approved", "tool.permission.decided"),
];

/// One record of another writer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForeignRecord {
    /// The name of its published schema.
    pub kind: String,
    /// The record in its 0.2 form, with every field that it came with.
    pub record: Map<String, Value>,
    /// The older version that it was written in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// Oddities. The record is read all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// Parses records: one, a list, or JSON lines, each bare or beside its kind. An error names the
/// position of what is no record.
pub fn receive(text: &str) -> Result<Vec<ForeignRecord>, String> {
    let values = match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(values)) => values,
        Ok(value) => vec![value],
        Err(_) => lines(text)?,
    };
    let numbered = values.into_iter().zip(1..);
    numbered.map(|(value, number)| one(value).ok_or_else(|| unknown(number))).collect()
}

fn unknown(number: usize) -> String {
    format!("record {number} is none of Agent Tool: nothing in it says what it is")
}

fn lines(text: &str) -> Result<Vec<Value>, String> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let each = lines.map(|(line, number)| {
        serde_json::from_str(line).map_err(|fault| format!("line {number} is no JSON: {fault}"))
    });
    each.collect()
}

fn one(value: Value) -> Option<ForeignRecord> {
    let Value::Object(mut fields) = value else { return None };
    let told = fields.get("kind").and_then(Value::as_str).map(str::to_owned);
    let (kind, record) = match (told, fields.remove("record")) {
        (Some(kind), Some(Value::Object(record))) => (kind, record),
        (_, None) => (kind_of(&fields)?.to_owned(), fields),
        (_, Some(_)) => return None,
    };
    let known = KINDS.iter().any(|(name, _)| *name == kind);
    known.then(|| brought_up_to_date(kind, record))
}

fn kind_of(fields: &Map<String, Value>) -> Option<&'static str> {
    let has = |names: &[&str]| names.iter().all(|name| fields.contains_key(*name));
    KINDS.iter().find(|(_, names)| has(names)).map(|(kind, _)| *kind)
}

fn brought_up_to_date(kind: String, mut record: Map<String, Value>) -> ForeignRecord {
    let mut remarks = Vec::new();
    let version = record.get("schema_version").and_then(Value::as_str).map(str::to_owned);
    let was = version.filter(|version| version.starts_with("0.1"));
    if was.is_some() {
        record.insert("schema_version".to_owned(), SCHEMA_VERSION.into());
        renamed(&mut record);
    } else if !record.get("schema_version").and_then(Value::as_str).is_some_and(is_ours) {
        remarks.push("it does not say that it is of 0.1 or 0.2, and is read as 0.2".to_owned());
    }
    if kind == "invocation" {
        remarks.extend(status_remarks(&record));
    }
    ForeignRecord { kind, record, was, remarks }
}

fn is_ours(version: &str) -> bool {
    version.starts_with("0.2")
}

/// Renames an event and keeps its old name beside it.
fn renamed(record: &mut Map<String, Value>) {
    let class = record.get("event_type").and_then(Value::as_str);
    let now = class.and_then(|class| RENAMED.iter().find(|(before, _)| *before == class));
    if let Some((before, now)) = now {
        record.insert("event_type".to_owned(), (*now).into());
        record.insert("native_event_type".to_owned(), (*before).into());
    }
}

/// Status transitions that the standard's table does not allow.
fn status_remarks(record: &Map<String, Value>) -> Option<String> {
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let said = record.get("status").and_then(word)?;
    if Status::parse(&said).is_none() {
        return Some(format!("`{said}` is no status of the standard"));
    }
    let way = record.get("status_transitions").and_then(Value::as_array)?;
    let way: Vec<String> =
        way.iter().filter_map(|step| step.get("status").and_then(word)).collect();
    let next = way.iter().skip(1);
    let wrong = way.iter().zip(next).find(|(from, to)| !follows(from, to));
    wrong.map(|(from, to)| format!("`{from}` may not become `{to}`"))
}

fn follows(from: &str, to: &str) -> bool {
    let both = Status::parse(from).zip(Status::parse(to));
    both.is_some_and(|(from, to)| from == to || from.may_become(to))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> Vec<ForeignRecord> {
        receive(&value.to_string()).unwrap()
    }

    #[test]
    fn unknown_fields_survive_and_current_records_roundtrip() {
        let ours = json!([
            { "schema_version": "0.2.0", "event_id": "e", "event_type": "tool.declared", "x": 1 },
            { "kind": "invocation", "record": {
                "schema_version": "0.2.0", "invocation_id": "i", "tool_id": "t", "status": "failed",
                "status_transitions": [{ "status": "planned" }, { "status": "failed" }],
                "vendor": { "deep": [1, null] } } },
            { "schema_version": "0.2.0", "decision_id": "d", "strategy": "inline" },
            { "schema_version": "0.2.0", "decision_id": "d", "behavior": "allow" },
            { "schema_version": "0.2.0", "tool_id": "t", "name": "n", "later": true },
        ]);
        let read = read(&ours);
        let kinds: Vec<_> = read.iter().map(|one| &*one.kind).collect();
        let expected = [
            "event",
            "invocation",
            "result-persistence",
            "permission-decision",
            "tool-declaration",
        ];
        assert_eq!(kinds, expected);
        for (given, one) in ours.as_array().unwrap().iter().zip(&read) {
            let given = given.get("record").unwrap_or(given);
            assert_eq!(Value::Object(one.record.clone()), *given);
            assert_eq!((&one.was, &one.remarks), (&None, &Vec::new()));
        }
    }

    #[test]
    fn version_0_1_records_are_read_under_current_names() {
        let old = "{\"schema_version\":\"0.1.1\",\"event_id\":\"a\",\"event_type\":\"tool.invocation.approval_requested\",\"y\":2}\n\n{\"schema_version\":\"0.1.1\",\"invocation_id\":\"i\",\"tool_id\":\"t\",\"status\":\"approved\"}\n";
        let read = receive(old).unwrap();
        assert_eq!(
            serde_json::to_value(&read).unwrap(),
            json!([
                { "kind": "event", "was": "0.1.1", "record": {
                    "schema_version": "0.2.0", "event_id": "a", "y": 2,
                    "event_type": "tool.permission.requested",
                    "native_event_type": "tool.invocation.approval_requested" } },
                { "kind": "invocation", "was": "0.1.1", "record": {
                    "schema_version": "0.2.0", "invocation_id": "i", "tool_id": "t",
                    "status": "approved" } },
            ])
        );
    }

    #[test]
    fn irregular_record_gets_remark_and_non_record_is_refused() {
        let odd =
            read(&json!({ "schema_version": "0.2.0", "invocation_id": "i", "status": "denied",
            "status_transitions": [{ "status": "succeeded" }, { "status": "running" }] }));
        assert_eq!(odd[0].remarks, ["`succeeded` may not become `running`"]);
        let odd = read(&json!({ "invocation_id": "i", "status": "lost" }));
        let words = [
            "it does not say that it is of 0.1 or 0.2, and is read as 0.2",
            "`lost` is no status of the standard",
        ];
        assert_eq!(odd[0].remarks, words);
        assert_eq!(receive("[{\"a\": 1}]"), Err(unknown(1)));
        let fault = receive("{\"event_id\": 1}\n{").unwrap_err();
        assert!(fault.starts_with("line 2 is no JSON"), "{fault}");
    }
}
