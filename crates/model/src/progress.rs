//! Progress and cancellation: how far a call is, and the state of a cancellation request.

use serde::{Deserialize, Serialize};

use crate::status::words;

/// One progress report. The recorder assigns its sequence number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Progress message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// From 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Name of the current step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_step: Option<String>,
    /// Index of the current step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_index: Option<u64>,
    /// Number of steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_steps: Option<u64>,
    /// Bytes read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_read: Option<u64>,
    /// Bytes written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    /// Lines processed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_count: Option<u64>,
}

words! {
    /// State of a cancellation. Each is a fact of its own.
    CancelFact {
        /// Cancellation was requested.
        Requested "cancel_requested",
        /// The driver received it.
        Acknowledged "cancel_acknowledged",
        /// The call ended because of it.
        Canceled "canceled",
        /// The driver could not stop the call.
        Failed "cancel_failed",
        /// The contract does not support cancellation.
        Unsupported "cancel_unsupported",
    }
}

words! {
    /// Reason of a cancellation.
    AbortReason {
        /// The caller or a person.
        UserInterruption "user_interruption",
        /// Another call of the batch failed.
        SiblingError "sibling_error",
        /// The timeout expired.
        Timeout "timeout",
        /// Another attempt took over.
        Fallback "fallback",
        /// Graceful shutdown of Haft.
        RuntimeShutdown "runtime_shutdown",
    }
}
