//! Log messages: passes backend remarks on to clients that want them.
//!
//! Up to 2025-11-25 a session sets the lowest level; from 2026-07-28 on each request does.
#![expect(deprecated, reason = "clients of 2025 still read it")]

use std::sync::{Arc, Mutex, PoisonError};

use haft_driver::Remark;
use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::handler::McpHandler;

/// Lowest log level that a session wants.
#[derive(Clone, Default)]
pub(crate) struct Level(Arc<Mutex<Option<LoggingLevel>>>);

impl Level {
    pub(super) fn set(&self, level: LoggingLevel) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// Copies the level of the session's previous worker.
    pub(super) fn copy(&self, other: &Level) {
        let level = other.get();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }

    fn get(&self) -> Option<LoggingLevel> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl McpHandler {
    /// Lowest level of remarks that a request's client wants.
    pub(super) fn wants_remarks(&self, context: &RequestContext<RoleServer>) -> Option<String> {
        let level = match (context.meta.log_level(), self.level.get()) {
            (Some(asked), _) => asked,
            (None, _) if super::is_modern(context) => return None,
            (None, Some(set)) => set,
            (None, None) => LoggingLevel::Debug,
        };
        name(level)
    }

    /// Sends a backend's remark to the client.
    pub(super) async fn remark(&self, context: &RequestContext<RoleServer>, remark: Remark) {
        if let Some(params) = told(remark, self.wants_remarks(context).as_deref()) {
            let _ = context.peer.notify_logging_message(params).await;
        }
    }
}

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
