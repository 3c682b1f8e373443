//! Reference resolution: a document that holds schemas, and where its `$ref`s lead.

use serde_json::Value;

/// The longest chain of references; a longer one counts as a cycle.
const LONGEST_CHAIN: usize = 32;

/// The document that references begin at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Root<'d> {
    pub(crate) value: &'d Value,
    pub(crate) dialect: Dialect,
}

/// The dialect of a document's schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// OpenAPI 3.0, which is not quite JSON Schema.
    Old,
    /// OpenAPI 3.1, whose schemas stand all over the document.
    New,
    /// JSON Schema 2020-12 that is complete in itself, and whose own words and definitions others may
    /// refer to: those of a tool of MCP.
    Complete,
}

impl<'d> Root<'d> {
    /// The value itself, or what its reference leads to; none where that is nothing in the document.
    pub(crate) fn resolved(&self, value: &'d Value) -> Option<&'d Value> {
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
    pub(crate) fn target(&self, reference: &str) -> Option<&'d Value> {
        let fragment = reference.strip_prefix('#')?;
        self.value.pointer(&unescaped(fragment))
    }
}

/// The reference that a value is, if it is one.
pub(crate) fn reference(value: &Value) -> Option<&str> {
    value.get("$ref").and_then(Value::as_str)
}

/// The last name of a reference; of a whole file, its name without folders and ending.
pub(super) fn last_name(target: &str) -> String {
    let last = target.rsplit('/').next().unwrap_or_default().replace("~1", "/");
    let name = last.rsplit('/').next().unwrap_or_default();
    let stem = [".yaml", ".yml", ".json"].iter().find_map(|ending| name.strip_suffix(ending));
    stem.unwrap_or(name).to_owned()
}

/// A fragment of an address without its `%XX`.
pub(crate) fn unescaped(fragment: &str) -> String {
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
