//! Log messages: passes backend remarks on to clients that want them.
//!
//! Up to 2025-11-25 a session sets the lowest level; from 2026-07-28 on each request does.
#![expect(deprecated, reason = "clients of 2025 still read it")]

use haft_driver::Remark;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use serde_json::Value;

/// A log notification, if the remark reaches the client's level.
pub(super) fn told(
    remark: Remark,
    wanted: Option<&str>,
) -> Option<LoggingMessageNotificationParam> {
    let (level, wanted) = (level(&remark.level)?, level(wanted?)?);
    if rank(level) < rank(wanted) {
        return None;
    }
    let mut params = LoggingMessageNotificationParam::new(level, remark.data);
    params.logger = remark.logger;
    Some(params)
}

/// The name of a level.
pub(super) fn name(level: LoggingLevel) -> Option<String> {
    serde_json::to_value(level).ok()?.as_str().map(str::to_owned)
}

fn level(name: &str) -> Option<LoggingLevel> {
    serde_json::from_value(Value::String(name.to_owned())).ok()
}

fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
