//! How far a call is, and what became of a wish to call it off.

use serde::{Deserialize, Serialize};

use crate::status::words;

/// One report of how far a call is. Its place in the order is given by whoever records it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// From 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// The step under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_step: Option<String>,
    /// Which one that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_index: Option<u64>,
    /// Of how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_steps: Option<u64>,
    /// Bytes taken in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_read: Option<u64>,
    /// Bytes given out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    /// Lines seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_count: Option<u64>,
}

words! {
    /// What is known of a wish to call a call off. Each is a fact of its own.
    CancelFact {
        /// Somebody asked.
        Requested "cancel_requested",
        /// The driver heard it.
        Acknowledged "cancel_acknowledged",
        /// It ended because of it.
        Canceled "canceled",
        /// It could not be stopped.
        Failed "cancel_failed",
        /// The contract does not allow it.
        Unsupported "cancel_unsupported",
    }
}

words! {
    /// Why something was called off.
    AbortReason {
        /// The caller or a person.
        UserInterruption "user_interruption",
        /// Another call of the batch failed.
        SiblingError "sibling_error",
        /// Time ran out.
        Timeout "timeout",
        /// Another attempt took over.
        Fallback "fallback",
        /// Haft stops.
        RuntimeShutdown "runtime_shutdown",
    }
}
