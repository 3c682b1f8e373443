//! Tool pinning: lists a server's tools, and blocks a tool that changed since it was accepted.
//!
//! INVARIANT: annotations of a server loosen nothing, and a changed tool is not called until a
//! person accepts it again.

use std::collections::BTreeMap;
use std::collections::hash_map::{Entry as Slot, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_model::{Code, Digest, Plan, Stop};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ListToolsResult, PaginatedRequestParams, Tool};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::client::McpClient;
use super::fault::RequestFault;
use super::request_headers::ArgumentHeader;

/// Pagination limits of a tool list: pages, and tools.
const MOST_PAGES: usize = 100;
const MOST_TOOLS: usize = 10_000;

/// A tool of a server, as it lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The id of the driver that connects to the server.
    pub driver: String,
    /// The server's name of the tool.
    pub tool: String,
    /// Digest of its description and schemas.
    pub digest: Digest,
}

/// How a listed tool compares to the accepted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolStanding {
    /// Its digest is the accepted one, or it is seen for the first time.
    Accepted,
    /// Its digest differs from the accepted one.
    Changed,
    /// The record of accepted tools is damaged.
    Lost,
}

/// Compares a tool to the accepted digest: trust on first use.
pub type Witness = Arc<dyn Fn(&Sight) -> ToolStanding + Send + Sync>;

/// A witness that remembers until the process ends.
pub(super) fn forgetful() -> Witness {
    let seen: Mutex<HashMap<(String, String), Digest>> = Mutex::default();
    Arc::new(move |sight| {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.entry((sight.driver.clone(), sight.tool.clone())) {
            Slot::Occupied(known) if *known.get() == sight.digest => ToolStanding::Accepted,
            Slot::Occupied(_) => ToolStanding::Changed,
            Slot::Vacant(free) => {
                free.insert(sight.digest.clone());
                ToolStanding::Accepted
            }
        }
    })
}

/// A server's tool list.
#[derive(Debug, Default)]
pub(super) struct Tools {
    listed: BTreeMap<String, ListedTool>,
    /// When the list expires by the server's `ttlMs`; `None` where it states none.
    until: Option<Instant>,
}

#[derive(Debug)]
struct ListedTool {
    digest: Digest,
    required: Vec<String>,
    /// The arguments that a call repeats as headers.
    headers: Vec<ArgumentHeader>,
    /// Its standing, once a call asked the witness.
    seen: Mutex<Option<ToolStanding>>,
}

impl Tools {
    /// Lists all tools of a server.
    pub(super) async fn of(client: &McpClient) -> Result<Tools, Stop> {
        let (tools, ttl) = all(client).await?;
        let with_headers = client.repeats_arguments();
        let listed = tools.into_iter().filter_map(|tool| {
            let headers = match with_headers {
                // A tool with invalid annotations counts as not listed.
                true => ArgumentHeader::of_schema(&tool.input_schema)?,
                false => Vec::new(),
            };
            Some((tool.name.to_string(), ListedTool::of(&tool, headers)))
        });
        // A TTL of 0 counts as none, because it would refresh the list on each call.
        let ttl = ttl.filter(|ttl| *ttl > 0).map(Duration::from_millis);
        let until = ttl.and_then(|ttl| Instant::now().checked_add(ttl));
        Ok(Tools { listed: listed.collect(), until })
    }

    pub(super) fn is_stale(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Checks a call: the server lists the tool, its digest is the accepted one, and required
    /// arguments are sent. Returns the headers that repeat its arguments.
    pub(super) fn check(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        plan: &Plan,
        witness: &Witness,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, Stop> {
        let driver = &plan.route.driver;
        let listed = self.listed.get(tool).ok_or_else(|| self.missing(tool, plan))?;
        let seen = listed.seen(|| {
            witness(&Sight {
                driver: driver.to_string(),
                tool: tool.to_owned(),
                digest: listed.digest.clone(),
            })
        });
        match seen {
            ToolStanding::Accepted => {}
            ToolStanding::Changed => return Err(changed(tool, plan)),
            ToolStanding::Lost => return Err(lost(tool)),
        }
        if let Some(name) = listed.required.iter().find(|name| !arguments.contains_key(*name)) {
            let words = format!(
                "the server of driver `{driver}` requires `{name}` of `{tool}`, and the call does not send it"
            );
            let help = "let the contract require it, or name it in `argument_mapping`";
            return Err(Stop::new(Code::SetupRequired, words).help(help));
        }
        Ok(listed.headers.iter().filter_map(|header| header.of_call(arguments)).collect())
    }

    fn missing(&self, tool: &str, plan: &Plan) -> Stop {
        let names: Vec<String> =
            self.listed.keys().take(20).map(|name| format!("`{name}`")).collect();
        let words = format!("the server of driver `{}` has no tool `{tool}`", plan.route.driver);
        let help = match (names.is_empty(), self.listed.len() > names.len()) {
            (true, _) => "it has no tools at all".to_owned(),
            (false, false) => format!("it has {}", names.join(", ")),
            (false, true) => format!("it has {} and more", names.join(", ")),
        };
        Stop::new(Code::SetupRequired, words).help(help)
    }
}

fn changed(tool: &str, plan: &Plan) -> Stop {
    let driver = &plan.route.driver;
    let words =
        format!("the server of driver `{driver}` changed its tool `{tool}` since it was accepted");
    let help = format!("look at what it says now, then `haft accept {}`", plan.tool);
    Stop::new(Code::ToolBlocked, words).help(help)
}

fn lost(tool: &str) -> Stop {
    let words =
        format!("haft.lock is damaged: what was accepted of the server's `{tool}` is unknown");
    let help = "restore haft.lock from git, or `haft accept --all` after looking at every tool";
    Stop::new(Code::ToolBlocked, words).help(help)
}

impl ListedTool {
    fn of(tool: &Tool, headers: Vec<ArgumentHeader>) -> ListedTool {
        let required = tool.input_schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        ListedTool {
            digest: Digest::of(&json!({
                "description": tool.description,
                "inputSchema": tool.input_schema,
                "outputSchema": tool.output_schema,
            })),
            required: required.map(str::to_owned).collect(),
            headers,
            seen: Mutex::new(None),
        }
    }

    /// Asks the witness at most once per list while the tool is accepted: it may read a file.
    fn seen(&self, ask: impl FnOnce() -> ToolStanding) -> ToolStanding {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // A person may have accepted the change since.
        match *seen {
            Some(ToolStanding::Accepted) => ToolStanding::Accepted,
            Some(ToolStanding::Changed | ToolStanding::Lost) | None => *seen.insert(ask()),
        }
    }
}

/// Follows the pagination of `tools/list` within bounds; returns the tools and the smallest TTL.
pub(super) async fn all(client: &McpClient) -> Result<(Vec<Tool>, Option<u64>), Stop> {
    let (mut tools, mut cursor, mut ttl): (Vec<Tool>, Option<String>, Option<u64>) =
        (Vec::new(), None, None);
    for _ in 0..MOST_PAGES {
        let page = page(client, cursor.take()).await?;
        ttl = ttl.into_iter().chain(page.ttl_ms).min();
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if tools.len() > MOST_TOOLS {
            break;
        }
        if cursor.is_none() {
            return Ok((tools, ttl));
        }
    }
    let words = format!("the server lists more than {MOST_TOOLS} tools or {MOST_PAGES} pages");
    Err(Stop::new(Code::OutputInvalid, words))
}

async fn page(client: &McpClient, cursor: Option<String>) -> Result<ListToolsResult, Stop> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let page = client.ask("tools/list", &params).await;
    page.map_err(|fault| match fault {
        RequestFault::Undecodable => {
            let words = "the server answered `tools/list` with something else";
            Stop::new(Code::OutputInvalid, words)
        }
        RequestFault::Refused(error) => {
            let words = format!("the server does not list its tools: {}", error.message);
            Stop::new(Code::SetupRequired, one_line(&words))
        }
        fault => fault.meaning().map(|(stop, _)| stop).unwrap_or_else(|| {
            let words = "the connection broke before the server listed its tools";
            Stop::new(Code::DependencyUnavailable, words)
        }),
    })
}

/// Foreign text on one line, cut to 300 characters.
pub(super) fn one_line(words: &str) -> String {
    const MOST: usize = 300;
    let plain: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match plain.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", plain.get(..end).unwrap_or_default()),
        None => plain,
    }
}
