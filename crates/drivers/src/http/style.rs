//! Parameter serialization (OpenAPI styles): writes lists and objects into a query, form, header or
//! path. A nested list or object is refused.

use haft_contract::driver::manifest::{ParameterKind, ParameterStyle};
use haft_model::{Code, Stop};
use serde_json::Value;

/// The serializer of one parameter, by its style.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Style(pub(super) ParameterStyle);

impl Style {
    /// Serializes a value to percent-encoded `name=value` pairs; none for null.
    pub(super) fn pairs(self, name: &str, value: &Value) -> Result<Vec<String>, Stop> {
        let pairs = self.written(name, value, encoded)?;
        Ok(pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
    }

    /// Serializes a value to names and values of multipart parts, without percent-encoding.
    pub(super) fn parts(self, name: &str, value: &Value) -> Result<Vec<(String, String)>, Stop> {
        self.written(name, value, str::to_owned)
    }

    fn written(
        self,
        name: &str,
        value: &Value,
        write: fn(&str) -> String,
    ) -> Result<Vec<(String, String)>, Stop> {
        let pair = |name: &str, value: String| (write(name), value);
        let each = |value: &Value| plain(name, value).map(|text| write(&text));
        let mark = self.mark(write);
        let explode = self
            .0
            .explode
            .unwrap_or(matches!(self.0.style, ParameterKind::Form | ParameterKind::DeepObject));
        match value {
            Value::Null => Ok(Vec::new()),
            Value::Array(items) if explode && self.0.style != ParameterKind::DeepObject => {
                items.iter().map(|item| Ok(pair(name, each(item)?))).collect()
            }
            Value::Object(fields) if self.0.style == ParameterKind::DeepObject => {
                let written = fields.iter().filter(|(_, value)| !value.is_null());
                written
                    .map(|(key, value)| Ok(pair(&format!("{name}[{key}]"), each(value)?)))
                    .collect()
            }
            Value::Object(fields) if explode => {
                fields.iter().map(|(key, value)| Ok(pair(key, each(value)?))).collect()
            }
            Value::Array(_) | Value::Object(_) if self.0.style == ParameterKind::DeepObject => {
                Err(unwritable(name))
            }
            Value::Array(items) if items.is_empty() => Ok(Vec::new()),
            Value::Object(fields) if fields.is_empty() => Ok(Vec::new()),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(each).collect::<Result<_, Stop>>()?;
                Ok(vec![pair(name, items.join(&mark))])
            }
            Value::Object(fields) => {
                let parts = fields
                    .iter()
                    .map(|(key, value)| Ok(format!("{}{mark}{}", write(key), each(value)?)));
                let parts: Vec<String> = parts.collect::<Result<_, Stop>>()?;
                Ok(vec![pair(name, parts.join(&mark))])
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Ok(vec![pair(name, each(value)?)])
            }
        }
    }

    /// The separator of values. A comma is never percent-encoded.
    fn mark(self, write: fn(&str) -> String) -> String {
        match self.0.style {
            ParameterKind::Form | ParameterKind::DeepObject => ",".to_owned(),
            ParameterKind::SpaceDelimited => write(" "),
            ParameterKind::PipeDelimited => write("|"),
        }
    }
}

/// Serializes a value in `simple` style, for a header or a path segment.
pub(super) fn simple(name: &str, value: &Value) -> Result<Vec<String>, Stop> {
    match value {
        Value::Array(items) => items.iter().map(|item| plain(name, item)).collect(),
        Value::Object(fields) => {
            let mut parts = Vec::new();
            for (key, value) in fields {
                parts.extend([key.clone(), plain(name, value)?]);
            }
            Ok(parts)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Ok(vec![plain(name, value)?])
        }
    }
}

/// A scalar as text; refuses a list or an object.
fn plain(name: &str, value: &Value) -> Result<String, Stop> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Array(_) | Value::Object(_) => Err(unwritable(name)),
    }
}

fn unwritable(name: &str) -> Stop {
    let words = format!("`{name}` holds a list or an object where only text can be written");
    Stop::new(Code::InputValue, words).help("write it as JSON, by `| json`")
}

/// Percent-encodes all bytes but the unreserved ones of RFC 3986.
pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    encode(text, &mut encoded);
    encoded
}

/// Percent-encodes a text onto the end of another.
pub(super) fn encode(text: &str, into: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                into.push(char::from(byte));
            }
            _ => into.push_str(&format!("%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(style: Value, value: Value) -> Result<String, Code> {
        let style = serde_json::from_value(style).unwrap();
        Style(style).pairs("n", &value).map(|pairs| pairs.join("&")).map_err(|stop| stop.code)
    }

    #[test]
    fn each_query_style_serializes_lists_and_objects() {
        let (list, object) = (json!(["a b", 2]), json!({"k": "x&y", "l": true}));
        for (style, of_list, of_object) in [
            (json!({}), Ok("n=a%20b&n=2"), Ok("k=x%26y&l=true")),
            (json!({"explode": false}), Ok("n=a%20b,2"), Ok("n=k,x%26y,l,true")),
            (json!({"style": "form", "explode": true}), Ok("n=a%20b&n=2"), Ok("k=x%26y&l=true")),
            (json!({"style": "spaceDelimited"}), Ok("n=a%20b%202"), Ok("n=k%20x%26y%20l%20true")),
            (json!({"style": "pipeDelimited"}), Ok("n=a%20b%7C2"), Ok("n=k%7Cx%26y%7Cl%7Ctrue")),
            (
                json!({"style": "deepObject"}),
                Err(Code::InputValue),
                Ok("n%5Bk%5D=x%26y&n%5Bl%5D=true"),
            ),
        ] {
            let expected = |text: Result<&str, Code>| text.map(str::to_owned);
            assert_eq!(written(style.clone(), list.clone()), expected(of_list), "{style}");
            assert_eq!(written(style.clone(), object.clone()), expected(of_object), "{style}");
        }
    }

    #[test]
    fn empty_values_are_omitted_and_nested_values_refused() {
        for (value, expected) in [
            (json!(null), Ok("")),
            (json!([]), Ok("")),
            (json!({}), Ok("")),
            (json!("é"), Ok("n=%C3%A9")),
            (json!([[1]]), Err(Code::InputValue)),
            (json!({"k": {"l": 1}}), Err(Code::InputValue)),
        ] {
            assert_eq!(written(json!({}), value.clone()), expected.map(str::to_owned), "{value}");
        }
        assert_eq!(simple("n", &json!({"k": [1], "l": 2})).unwrap_err().code, Code::InputValue);
        assert_eq!(simple("n", &json!({"k": 1, "l": 2})).unwrap().join(","), "k,1,l,2");
    }
}
