//! Expected output of a contract's example: compares it with what a driver returned.

use haft_model::Digest;
use serde_json::Value;

/// Difference between the expected and the actual output; `None` if equal or nothing is expected.
/// It compares canonical values: neither the order of fields nor 1 against 1.0 matters.
pub fn differs(shown: Option<&Value>, given: &Value) -> Option<String> {
    let shown = shown.filter(|shown| Digest::of(shown) != Digest::of(given))?;
    Some(format!("expected {shown}, got {given}"))
}
