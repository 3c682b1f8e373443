//! Fuzz target for canonical numbers: an accepted JSON number arrives as it was written.

use haft_model::{JsonFlaw, canonical, is_exact_number, settle_numbers};
use serde_json::Value;

/// Reads the bytes as JSON. A text without a flaw keeps its numbers through canonical JSON, and twice is as once.
pub fn numbers(data: &[u8]) {
    let flaw = JsonFlaw::in_text(data);
    let Ok(mut value) = serde_json::from_slice::<Value>(data) else { return };
    if flaw.is_some() {
        return;
    }
    assert_eq!(settle_numbers(&mut value), Ok(()), "the text has no flaw, and its value has");
    let text = canonical(&value);
    assert_eq!(JsonFlaw::in_text(&text), None, "canonical JSON is exact");
    let again: Result<Value, _> = serde_json::from_slice(&text);
    let again = again.map(|mut again| settle_numbers(&mut again).map(|()| again));
    assert!(matches!(again, Ok(Ok(again)) if again == value), "canonical JSON says the same");
    if let (Value::Number(number), Ok(written)) = (&value, std::str::from_utf8(data)) {
        assert!(is_exact_number(written.trim().as_bytes()), "{written} is taken as {number}");
    }
}
