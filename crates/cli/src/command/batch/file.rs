//! A file of calls: one JSON document, or one call per line.

use std::io::Read as _;

use haft_model::{
    Actor, BatchOrdering, Call, ContextPolicy, DriverId, InterruptBehavior, OnFailure, YieldPolicy,
};
use haft_runtime::{Batch, BatchCall};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::Misuse;

/// What a file asks for.
#[derive(Debug, Default)]
pub(super) struct Asked {
    calls: Vec<Member>,
    how: How,
}

/// A document with everything in it, or a line that only says how.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    calls: Vec<Member>,
    ordering: Option<BatchOrdering>,
    r#yield: Option<YieldPolicy>,
    interrupt: Option<InterruptBehavior>,
    on_failure: Option<OnFailure>,
    context_modifiers: Option<ContextPolicy>,
}

/// How the calls are made, as far as it was said.
#[derive(Debug, Default)]
struct How {
    ordering: Option<BatchOrdering>,
    yields: Option<YieldPolicy>,
    interrupt: Option<InterruptBehavior>,
    on_failure: Option<OnFailure>,
    context: Option<ContextPolicy>,
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
            let how = &mut asked.how;
            how.ordering = document.ordering.or(how.ordering);
            how.yields = document.r#yield.or(how.yields);
            how.interrupt = document.interrupt.or(how.interrupt);
            how.on_failure = document.on_failure.or(how.on_failure);
            how.context = document.context_modifiers.or(how.context);
            asked.calls.extend(document.calls);
        }
    }
    Ok(asked)
}

impl Asked {
    /// The batch as somebody's. Whoever presses Ctrl-C means what runs, too, unless the file says
    /// something else.
    pub(super) fn batch(self, actor: &Actor) -> Batch {
        let how = self.how;
        let usual = Batch::new(self.calls.into_iter().map(|member| member.call(actor.clone())));
        Batch {
            ordering: how.ordering.unwrap_or(usual.ordering),
            yields: how.yields,
            interrupt: how.interrupt.unwrap_or(InterruptBehavior::Cancel),
            on_failure: how.on_failure,
            context: how.context.unwrap_or(usual.context),
            ..usual
        }
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
        Ok((asked.calls.into_iter().map(|call| call.tool).collect(), asked.how.ordering))
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
