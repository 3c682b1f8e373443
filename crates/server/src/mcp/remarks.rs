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

use super::handler::Wire;

/// From which level on a session wants to hear remarks.
#[derive(Clone, Default)]
pub(crate) struct Level(Arc<Mutex<Option<LoggingLevel>>>);

impl Level {
    pub(super) fn set(&self, level: LoggingLevel) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    fn get(&self) -> Option<LoggingLevel> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wire {
    /// Hands on what a backend remarked.
    pub(super) async fn remark(&self, context: &RequestContext<RoleServer>, remark: Remark) {
        let Some(level) = level(&remark.level) else { return };
        let modern = super::is_modern(context);
        let wanted = match (context.meta.log_level(), self.level.get()) {
            (Some(asked), _) => rank(level) >= rank(asked),
            (None, _) if modern => false,
            (None, Some(set)) => rank(level) >= rank(set),
            (None, None) => true,
        };
        if wanted {
            let mut params = LoggingMessageNotificationParam::new(level, remark.data);
            params.logger = remark.logger;
            let _ = context.peer.notify_logging_message(params).await;
        }
    }
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
