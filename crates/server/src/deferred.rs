//! Deferred loading over every wire: our own tools to search, load and call what a list leaves out.
//!
//! They are no contracts: what they do is a search, a load or a call of the runtime.

use haft_catalog::{Loading, TOOL_LOAD, TOOL_SEARCH, Viewer};
use haft_model::{Audience, Stop, Tier, ToolKey};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::AppState;

/// Default and largest number of search results.
const FOUND: usize = 10;
const MOST_FOUND: usize = 50;

/// Most schemas loaded at once.
const MOST_LOADED: usize = 50;

/// One of our own tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    Search,
    Load,
    Call(Tier),
}

impl Own {
    pub(crate) const ALL: [Own; 5] = [
        Own::Search,
        Own::Load,
        Own::Call(Tier::Read),
        Own::Call(Tier::Write),
        Own::Call(Tier::Destructive),
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Own::Search => TOOL_SEARCH,
            Own::Load => TOOL_LOAD,
            Own::Call(tier) => tier.way(),
        }
    }

    pub(crate) fn named(name: &str) -> Option<Own> {
        Own::ALL.into_iter().find(|own| own.name() == name)
    }

    /// Its description and input schema.
    pub(crate) fn described(self) -> (&'static str, Value) {
        match self {
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
                        "arguments": {
                            "type": "object", "additionalProperties": true,
                            "description": "Its input, as its schema says.",
                        },
                    },
                    "required": ["name"],
                    "additionalProperties": false,
                }),
            ),
        }
    }

    /// Its declaration in `tools/list` of MCP.
    pub(crate) fn declared(self) -> Value {
        let (about, input) = self.described();
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

/// Arguments of a search.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchRequest {
    query: String,
    limit: Option<usize>,
}

/// Arguments of a load.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadRequest {
    names: Vec<String>,
}

/// Arguments of a call tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeferredCall {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) arguments: Map<String, Value>,
}

/// Parses the arguments of one of our tools; the error says what is wrong.
pub(crate) fn read<T: DeserializeOwned>(
    own: Own,
    arguments: Map<String, Value>,
) -> Result<T, DeferredRefusal> {
    serde_json::from_value(Value::Object(arguments)).map_err(|fault| {
        DeferredRefusal::Arguments(format!("the arguments of `{}`: {fault}", own.name()))
    })
}

/// Why a search or a load failed. No call is behind it.
pub(crate) enum DeferredRefusal {
    Arguments(String),
    Stopped(Box<Stop>),
}

impl DeferredRefusal {
    /// The message of the refusal.
    pub(crate) fn words(&self) -> &str {
        match self {
            DeferredRefusal::Arguments(words) => words,
            DeferredRefusal::Stopped(stop) => &stop.message,
        }
    }
}

impl From<Stop> for DeferredRefusal {
    fn from(stop: Stop) -> DeferredRefusal {
        DeferredRefusal::Stopped(Box::new(stop.told_to(Audience::Agent)))
    }
}

impl AppState {
    /// Runs a search or a load; `declared` renders a tool for the caller.
    pub(crate) async fn found(
        &self,
        own: Own,
        arguments: Map<String, Value>,
        viewer: &Viewer<'_>,
        declared: impl Fn(&ToolKey) -> Option<Value>,
    ) -> Result<Value, DeferredRefusal> {
        match own {
            Own::Search => {
                let SearchRequest { query, limit } = read(own, arguments)?;
                let most = limit.unwrap_or(FOUND).clamp(1, MOST_FOUND);
                let found = self.runtime.search(viewer, &query, most).await?.record();
                Ok(Audience::Agent.value(found))
            }
            Own::Load | Own::Call(_) => {
                let LoadRequest { mut names } = read(Own::Load, arguments)?;
                names.truncate(MOST_LOADED);
                let loading = self.runtime.load(viewer, &names).await?;
                Ok(Audience::Agent.value(self.loaded(&loading, viewer, declared)))
            }
        }
    }

    /// Result of a load: the schemas, and how to call the tools.
    fn loaded(
        &self,
        loading: &Loading,
        viewer: &Viewer<'_>,
        declared: impl Fn(&ToolKey) -> Option<Value>,
    ) -> Value {
        let vista = self.runtime.see(viewer);
        let schema = |key: &ToolKey| -> Option<Value> {
            let entry = &vista.view.get(key)?.entry;
            let way = Tier::of(&entry.contract.effects).way();
            let tool = declared(key)?;
            Some(json!({ "tool_id": key.to_string(), "call_with": way, "tool": tool }))
        };
        let surface = &vista.view.surface().id;
        loading.told(schema, json!({ "surface_id": surface, "revision": vista.revision.number }))
    }
}
