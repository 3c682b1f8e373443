//! The tools of our own by which a client finds, loads and calls what its list leaves out.
//!
//! They are no contracts: what they do is a search, a load or a call of the runtime.

use std::sync::LazyLock;

use haft_catalog::{Loading, Viewer};
use haft_model::{Stop, Tier, ToolKey};
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, MetaObject, Tool};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::handler::Wire;

/// How many a search finds unless said, and at most.
const FOUND: usize = 10;
const MOST_FOUND: usize = 50;

/// How many schemas are loaded at once.
const MOST_LOADED: usize = 50;

/// A tool of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    Search,
    Load,
    Call(Tier),
}

impl Own {
    const ALL: [Own; 5] = [
        Own::Search,
        Own::Load,
        Own::Call(Tier::Read),
        Own::Call(Tier::Write),
        Own::Call(Tier::Destructive),
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Own::Search => "tool_search",
            Own::Load => "tool_load",
            Own::Call(tier) => tier.way(),
        }
    }

    pub(super) fn named(name: &str) -> Option<Own> {
        Own::ALL.into_iter().find(|own| own.name() == name)
    }

    /// As `tools/list` has it.
    fn declared(self) -> Value {
        let (about, input) = match self {
            Own::Search => (
                "Finds tools that this list leaves out, by words or by exact names \
                 (`select:name,name`). Load what you want with `tool_load` before you call it.",
                json!({
                    "type": "object",
                    "properties": {
                        "query": { "type": "string", "description": "Words, or `select:` and exact names." },
                        "limit": { "type": "integer", "minimum": 1, "maximum": MOST_FOUND, "default": FOUND },
                    },
                    "required": ["query"],
                    "additionalProperties": false,
                }),
            ),
            Own::Load => (
                "Loads the schemas of tools that `tool_search` found; from then on they can be \
                 called. The answer holds the schemas and says which tool calls each.",
                json!({
                    "type": "object",
                    "properties": {
                        "names": {
                            "type": "array", "items": { "type": "string" },
                            "minItems": 1, "maxItems": MOST_LOADED,
                            "description": "Names or ids of tools.",
                        },
                    },
                    "required": ["names"],
                    "additionalProperties": false,
                }),
            ),
            Own::Call(tier) => (
                match tier {
                    Tier::Read => "Calls a loaded tool that changes nothing.",
                    Tier::Write => {
                        "Calls a loaded tool that changes something and destroys nothing."
                    }
                    Tier::Destructive => {
                        "Calls any loaded tool, those that may destroy something too."
                    }
                },
                json!({
                    "type": "object",
                    "properties": {
                        "name": { "type": "string", "description": "The name or id of the tool." },
                        "arguments": { "type": "object", "description": "Its input, as its schema says." },
                    },
                    "required": ["name"],
                    "additionalProperties": false,
                }),
            ),
        };
        let (reads, destroys) = match self {
            Own::Search | Own::Load | Own::Call(Tier::Read) => (true, false),
            Own::Call(Tier::Write) => (false, false),
            Own::Call(Tier::Destructive) => (false, true),
        };
        let is_call = matches!(self, Own::Call(_));
        json!({
            "name": self.name(),
            "description": about,
            "inputSchema": input,
            "annotations": {
                "readOnlyHint": reads,
                "destructiveHint": destroys,
                "idempotentHint": !is_call,
                "openWorldHint": is_call,
            },
        })
    }
}

/// All of them.
pub(super) fn tools() -> &'static [Tool] {
    static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
        let declared = Own::ALL.into_iter().map(Own::declared);
        declared.filter_map(|tool| serde_json::from_value(tool).ok()).collect()
    });
    &TOOLS
}

/// What a search is told.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    query: String,
    limit: Option<usize>,
}

/// What a load is told.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    names: Vec<String>,
}

/// What a call by one of ours is told.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Meant {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Map<String, Value>,
}

/// Arguments as a tool of ours takes them, or the answer to those that it does not.
pub(super) fn read<T: DeserializeOwned>(
    own: Own,
    arguments: Option<Map<String, Value>>,
) -> Result<T, Box<CallToolResult>> {
    serde_json::from_value(Value::Object(arguments.unwrap_or_default())).map_err(|fault| {
        let words = format!("the arguments of `{}`: {fault}", own.name());
        Box::new(CallToolResult::error(vec![ContentBlock::text(words)]))
    })
}

impl Wire {
    /// A search or a load.
    pub(super) async fn found(
        &self,
        own: Own,
        arguments: Option<Map<String, Value>>,
        viewer: &Viewer<'_>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = match own {
            Own::Search => match read::<Wanted>(own, arguments) {
                Ok(Wanted { query, limit }) => {
                    let most = limit.unwrap_or(FOUND).clamp(1, MOST_FOUND);
                    let answer = self.desk.runtime.search(viewer, &query, most).await;
                    answer.map(|answer| answer.record())
                }
                Err(wrong) => return Ok((*wrong).into()),
            },
            Own::Load | Own::Call(_) => match read::<Names>(Own::Load, arguments) {
                Ok(Names { mut names }) => {
                    names.truncate(MOST_LOADED);
                    let loading = self.desk.runtime.load(viewer, &names).await;
                    loading.map(|loading| self.loaded(&loading, viewer))
                }
                Err(wrong) => return Ok((*wrong).into()),
            },
        };
        Ok(answer.map_or_else(|stop| refused(&stop), CallToolResult::structured).into())
    }

    /// What came of a load: the schemas, and how to call what has them.
    fn loaded(&self, loading: &Loading, viewer: &Viewer<'_>) -> Value {
        let (vista, listing) = (self.desk.runtime.see(viewer), self.desk.listing(viewer));
        let schema = |key: &ToolKey| -> Option<Value> {
            let entry = &vista.view.get(key)?.entry;
            let mut tool = json!(listing.declared(key)?);
            tool.as_object_mut()?.remove("_meta");
            let way = Tier::of(&entry.contract.effects).way();
            Some(json!({ "tool_id": key.to_string(), "call_with": way, "tool": tool }))
        };
        let surface = &vista.view.surface().id;
        loading.told(schema, json!({ "surface_id": surface, "revision": vista.revision.number }))
    }
}

/// A refusal that no call stands behind.
fn refused(stop: &Stop) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(stop.message.clone())]);
    let mut meta = MetaObject::new();
    meta.insert("dev.haft/error".to_owned(), stop.told());
    result.meta = Some(meta);
    result
}
