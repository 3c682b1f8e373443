//! Notice: a diagnostic about a workspace file, for readers that never open the file.

use std::sync::Arc;

use serde::Serialize;

/// A diagnostic at a place in a file, as every edge shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// The rule's code.
    pub code: &'static str,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// What is wrong, in one line.
    pub message: String,
    /// The file, from the workspace's root.
    pub file: Arc<str>,
    /// From 1; 0 when the file could not be read as text.
    pub line: usize,
    /// From 1, in characters; 0 when the file could not be read as text.
    pub column: usize,
    /// The fix, where we know one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}
