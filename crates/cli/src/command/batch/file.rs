//! Batch file: one JSON document, or one call per line.

use std::io::Read as _;

use haft_model::JsonFlaw;
use haft_runtime::{BatchDocument, WrittenCall};
use serde::Deserialize as _;
use serde_json::Value;

use crate::arguments::Misuse;

/// Reads the calls of a file, or of standard input.
pub(super) fn read(file: &str) -> Result<BatchDocument, Misuse> {
    let mut text = String::new();
    let came = match file {
        "-" => std::io::stdin().read_to_string(&mut text).map(|_| ()),
        path => std::fs::read_to_string(path).map(|found| text = found),
    };
    came.map_err(|cause| Misuse(format!("cannot read `{file}`: {cause}")))?;
    if let Some(flaw) = JsonFlaw::in_text(&text) {
        return Err(Misuse(format!("`{file}` is no batch: {}", Misuse::from(flaw))));
    }
    parse(&text).map_err(|cause| Misuse(format!("`{file}` is no batch: {cause}")))
}

/// One document and many lines are both values one after the other.
fn parse(text: &str) -> Result<BatchDocument, serde_json::Error> {
    let mut asked = BatchDocument::default();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let value = value?;
        if value.is_array() {
            asked.calls.extend(Vec::<WrittenCall>::deserialize(value)?);
        } else if value.get("tool").is_some() {
            asked.calls.push(WrittenCall::deserialize(value)?);
        } else {
            asked.add(BatchDocument::deserialize(value)?);
        }
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use haft_model::BatchOrdering;

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
    fn unknown_field_in_batch_file_is_rejected() {
        for text in [r#"{"tool": "a", "inputs": {}}"#, r#"{"orderin": "serial"}"#, "{", "1"] {
            assert!(shape(text).is_err(), "{text}");
        }
    }
}
