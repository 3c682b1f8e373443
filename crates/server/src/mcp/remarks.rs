//! What backends remark, for clients that want to hear it.
//!
//! Up to 2025-11-25 a session says from which level on; from 2026-07-28 on each request does.
#![expect(deprecated, reason = "clients of 2025 still read it")]

use std::sync::{Arc, Mutex, PoisonError};

use haft_driver::Remark;
use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::handler::McpHandler;

/// From which level on a session wants to hear remarks.
#[derive(Clone, Default)]
pub(crate) struct Level(Arc<Mutex<Option<LoggingLevel>>>);

impl Level {
    pub(super) fn set(&self, level: LoggingLevel) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// Takes over what another was set to.
    pub(super) fn copy(&self, other: &Level) {
        let level = other.get();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }

    fn get(&self) -> Option<LoggingLevel> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl McpHandler {
    /// From which level on whoever sent a request wants to hear remarks.
    pub(super) fn wants_remarks(&self, context: &RequestContext<RoleServer>) -> Option<String> {
        let level = match (context.meta.log_level(), self.level.get()) {
            (Some(asked), _) => asked,
            (None, _) if super::is_modern(context) => return None,
            (None, Some(set)) => set,
            (None, None) => LoggingLevel::Debug,
        };
        name(level)
    }

    /// Hands on what a backend remarked.
    pub(super) async fn remark(&self, context: &RequestContext<RoleServer>, remark: Remark) {
        if let Some(params) = told(remark, self.wants_remarks(context).as_deref()) {
            let _ = context.peer.notify_logging_message(params).await;
        }
    }
}

/// A remark for somebody who wants to hear those from a level on.
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

/// What a level is called.
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
