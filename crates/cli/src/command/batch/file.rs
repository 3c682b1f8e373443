//! A file of calls: one JSON document, or one call per line.

use std::io::Read as _;

use haft_model::{Actor, Call, DriverId};
use haft_runtime::{Batch, BatchCall, BatchOrdering, OnFailure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::Misuse;

/// What a file asks for.
#[derive(Debug, Default)]
pub(super) struct Asked {
    calls: Vec<Member>,
    ordering: Option<BatchOrdering>,
    on_failure: Option<OnFailure>,
}

/// A document with everything in it, or a line that only says how.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    calls: Vec<Member>,
    ordering: Option<BatchOrdering>,
    on_failure: Option<OnFailure>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Member {
    tool: String,
    #[serde(default = "nothing")]
    input: Value,
    id: Option<String>,
    #[serde(default)]
    depends_on: Vec<Name>,
    #[serde(default)]
    priority: i32,
    key: Option<String>,
    context: Option<Value>,
    pin: Option<String>,
    #[serde(default)]
    region: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Name {
    Id(String),
    Index(u64),
}

fn nothing() -> Value {
    json!({})
}

/// Reads the calls of a file, or of standard input.
pub(super) fn read(file: &str) -> Result<Asked, Misuse> {
    let mut text = String::new();
    let came = match file {
        "-" => std::io::stdin().read_to_string(&mut text).map(|_| ()),
        path => std::fs::read_to_string(path).map(|found| text = found),
    };
    came.map_err(|cause| Misuse(format!("cannot read `{file}`: {cause}")))?;
    parse(&text).map_err(|cause| Misuse(format!("`{file}` is no batch: {cause}")))
}

/// One document and many lines are both values one after the other.
fn parse(text: &str) -> Result<Asked, serde_json::Error> {
    let mut asked = Asked::default();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let value = value?;
        if value.is_array() {
            asked.calls.extend(Vec::<Member>::deserialize(value)?);
        } else if value.get("tool").is_some() {
            asked.calls.push(Member::deserialize(value)?);
        } else {
            let document = Document::deserialize(value)?;
            asked.calls.extend(document.calls);
            asked.ordering = document.ordering.or(asked.ordering);
            asked.on_failure = document.on_failure.or(asked.on_failure);
        }
    }
    Ok(asked)
}

impl Asked {
    /// The batch as somebody's.
    pub(super) fn batch(self, actor: &Actor) -> Batch {
        let calls = self.calls.into_iter().map(|member| member.call(actor.clone())).collect();
        let ordering = self.ordering.unwrap_or_default();
        Batch { calls, ordering, on_failure: self.on_failure }
    }
}

impl Member {
    fn call(self, actor: Actor) -> BatchCall {
        let mut call = Call::new(actor, self.tool, self.input);
        if let Some(context) = self.context {
            call.context = context;
        }
        call.key = self.key;
        call.pinned = self.pin.as_deref().map(DriverId::from);
        call.region = self.region;
        call.channel = "cli";
        call.native = vec![json!({ "source": "cli", "id": std::process::id().to_string() })];
        let name = |name| match name {
            Name::Id(id) => id,
            Name::Index(index) => index.to_string(),
        };
        let depends_on = self.depends_on.into_iter().map(name).collect();
        BatchCall { call, id: self.id, depends_on, priority: self.priority }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Result<(Vec<String>, Option<BatchOrdering>), String> {
        let asked = parse(text).map_err(|fault| fault.to_string())?;
        Ok((asked.calls.into_iter().map(|call| call.tool).collect(), asked.ordering))
    }

    #[test]
    fn a_document_a_list_and_lines_say_the_same() {
        let serial = Some(BatchOrdering::Serial);
        let both = || vec!["a".to_owned(), "b".to_owned()];
        let cases = [
            r#"{"ordering": "serial", "calls": [{"tool": "a"}, {"tool": "b", "depends_on": [0]}]}"#,
            "{\"ordering\": \"serial\"}\n{\"tool\": \"a\", \"id\": \"x\"}\n\n{\"tool\": \"b\"}\n",
            r#"[{"tool": "a"}, {"tool": "b"}] {"ordering": "serial"}"#,
        ];
        for text in cases {
            assert_eq!(shape(text), Ok((both(), serial)), "{text}");
        }
    }

    #[test]
    fn a_word_that_nobody_knows_is_refused() {
        for text in [r#"{"tool": "a", "inputs": {}}"#, r#"{"orderin": "serial"}"#, "{", "1"] {
            assert!(shape(text).is_err(), "{text}");
        }
    }
}
