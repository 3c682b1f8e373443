//! `time.now`: returns the current time.

use haft_driver::{Failure, Output};
use haft_model::Timestamp;
use serde_json::json;

/// The time as text and as a Unix timestamp, both to the millisecond.
pub(super) fn run(now: Timestamp) -> Result<Output, Failure> {
    let unix_ms = now.as_millisecond();
    let utc = Timestamp::from_millisecond(unix_ms).unwrap_or(now);
    Ok(Output::read(json!({"utc": utc.to_string(), "unix_ms": unix_ms})))
}
