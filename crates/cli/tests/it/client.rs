//! Minimal MCP client of protocol 2026-07-28.

use serde_json::{Value, json};

use crate::wire::Server;

const VERSION: &str = "2026-07-28";

/// A client, in a session that it names where it has one.
pub(crate) struct Client<'s> {
    pub(crate) server: &'s Server,
    pub(crate) session: Option<&'static str>,
}

impl Client<'_> {
    /// The whole answer to a request.
    pub(crate) fn rpc(&self, method: &str, mut params: Value) -> Value {
        let mut meta = params["_meta"].take();
        meta["io.modelcontextprotocol/protocolVersion"] = json!(VERSION);
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        if let Some(session) = self.session {
            meta["dev.haft/session"] = json!(session);
        }
        params["_meta"] = meta;
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut headers = vec![
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", VERSION),
            ("Mcp-Method", method),
        ];
        if !name.is_empty() {
            headers.push(("Mcp-Name", &name));
        }
        let answer = self.server.ask("POST", "/mcp", &headers, Some(&body.to_string()));
        answer.json()
    }

    /// The names on the list, page by page.
    pub(crate) fn listed(&self) -> Vec<String> {
        let (mut names, mut cursor) = (Vec::new(), None::<Value>);
        loop {
            let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
            let page = self.rpc("tools/list", params)["result"].take();
            let tools = page["tools"].as_array().unwrap_or_else(|| panic!("{page:#}"));
            names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
            match &page["nextCursor"] {
                Value::Null => return names,
                next => cursor = Some(next.clone()),
            }
        }
    }

    /// What came of a call.
    pub(crate) fn call(&self, name: &str, arguments: Value) -> Value {
        let mut answer = self.rpc("tools/call", json!({ "name": name, "arguments": arguments }));
        match answer["result"].take() {
            Value::Null => answer,
            result => result,
        }
    }

    /// What a search says.
    pub(crate) fn search(&self, query: &str) -> Value {
        let result = self.call("tool_search", json!({ "query": query }));
        let record = result["structuredContent"].clone();
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result:#}"));
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), record, "the text is the same");
        record
    }
}
