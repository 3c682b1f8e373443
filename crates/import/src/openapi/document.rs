//! The document as it is, and where its references lead.

use serde_json::{Map, Value};

use crate::import::Error;

/// How many references may lead to each other before somebody is going round in circles.
const LONGEST_CHAIN: usize = 32;

/// An OpenAPI document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'d> {
    root: &'d Value,
    /// Whether schemas are those of 3.0, which are not quite JSON Schema.
    pub(super) old_schemas: bool,
}

impl<'d> Document<'d> {
    pub(super) fn read(root: &'d Value) -> Result<Document<'d>, Error> {
        let wanted = "an OpenAPI document of version 3.0 or 3.1";
        if let Some(version) = root.get("swagger").and_then(Value::as_str) {
            let found = format!("it is Swagger {version}; convert it to OpenAPI 3 first");
            return Err(Error::NotThis { wanted, found });
        }
        let version = match root.get("openapi") {
            Some(Value::String(version)) => version.clone(),
            Some(Value::Number(version)) => version.to_string(),
            _ => {
                let found = "it does not say `openapi: 3.…`".to_owned();
                return Err(Error::NotThis { wanted, found });
            }
        };
        if !version.starts_with("3.") {
            let found = format!("it says `openapi: {version}`");
            return Err(Error::NotThis { wanted, found });
        }
        Ok(Document { root, old_schemas: version.starts_with("3.0") })
    }

    pub(super) fn title(&self) -> Option<&'d str> {
        self.root.pointer("/info/title").and_then(Value::as_str)
    }

    pub(super) fn description(&self) -> Option<&'d str> {
        self.root.pointer("/info/description").and_then(Value::as_str)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'d Value> {
        self.root.get(name)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = (&'d String, &'d Value)> + use<'d> {
        self.root.get("paths").and_then(Value::as_object).into_iter().flatten()
    }

    pub(super) fn has_operations(&self) -> bool {
        self.paths().next().is_some()
    }

    pub(super) fn component(&self, kind: &str) -> Option<&'d Map<String, Value>> {
        self.root.get("components")?.get(kind)?.as_object()
    }

    /// The value itself, or what its reference leads to; none where that is nothing in the document.
    pub(super) fn resolved(&self, value: &'d Value) -> Option<&'d Value> {
        let mut value = value;
        for _ in 0..LONGEST_CHAIN {
            match reference(value) {
                Some(target) => value = self.target(target)?,
                None => return Some(value),
            }
        }
        None
    }

    /// What a reference leads to, which may be another reference.
    pub(super) fn target(&self, reference: &str) -> Option<&'d Value> {
        let fragment = reference.strip_prefix('#')?;
        self.root.pointer(&unescaped(fragment))
    }
}

/// The reference that a value is, if it is one.
pub(super) fn reference(value: &Value) -> Option<&str> {
    value.get("$ref").and_then(Value::as_str)
}

/// A fragment of an address without its `%XX`.
fn unescaped(fragment: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        match two_digits(rest.clone()).filter(|_| byte == b'%') {
            Some(code) => {
                bytes.push(code);
                rest.nth(1);
            }
            None => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| fragment.to_owned())
}

fn two_digits(mut ahead: std::str::Bytes<'_>) -> Option<u8> {
    let high = char::from(ahead.next()?).to_digit(16)?;
    let low = char::from(ahead.next()?).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}
