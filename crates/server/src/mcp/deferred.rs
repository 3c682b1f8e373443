//! Deferred loading over MCP: search and load as tool results.

use std::sync::LazyLock;

use haft_catalog::Viewer;
use haft_model::ToolKey;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Tool};
use serde_json::{Map, Value, json};

use crate::AppState;
use crate::deferred::{DeferredRefusal, Own};

/// Declarations of our own tools.
pub(super) fn tools() -> &'static [Tool] {
    static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
        let declared = Own::ALL.into_iter().map(Own::declared);
        declared.filter_map(|tool| serde_json::from_value(tool).ok()).collect()
    });
    &TOOLS
}

/// A search or a load.
pub(super) async fn found(
    desk: &AppState,
    own: Own,
    arguments: Map<String, Value>,
    viewer: &Viewer<'_>,
) -> CallToolResult {
    let declared = |key: &ToolKey| {
        let mut tool = json!(desk.listing(viewer).declared(key)?);
        tool.as_object_mut()?.remove("_meta");
        Some(tool)
    };
    let found = desk.found(own, arguments, viewer, declared).await;
    found.map_or_else(|why| refused(&why), CallToolResult::structured)
}

/// A refusal without a call behind it.
pub(super) fn refused(why: &DeferredRefusal) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(why.words())]);
    if let DeferredRefusal::Stopped(stop) = why {
        let mut meta = MetaObject::new();
        meta.insert("dev.haft/error".to_owned(), stop.told());
        result.meta = Some(meta);
    }
    result
}
