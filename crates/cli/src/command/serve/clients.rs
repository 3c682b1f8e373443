//! Client snippets: settings to paste into MCP clients.

use serde_json::{Value, json};

/// How a client is pointed at us.
pub(super) struct ClientSnippet<'a> {
    /// The URL of the MCP endpoint.
    pub(super) url: &'a str,
    /// Whether the client has to present a token.
    pub(super) token: bool,
}

impl ClientSnippet<'_> {
    fn claude(&self) -> String {
        let header =
            if self.token { " --header \"Authorization: Bearer $HAFT_TOKEN\"" } else { "" };
        format!("claude mcp add --transport http haft {}{header}", self.url)
    }

    fn codex(&self) -> String {
        let token = if self.token { "\nbearer_token_env_var = \"HAFT_TOKEN\"" } else { "" };
        format!("[mcp_servers.haft]\nurl = \"{}\"{token}", self.url)
    }

    fn cursor(&self) -> Value {
        let server = match self.token {
            true => json!({"url": self.url, "headers": bearer("${env:HAFT_TOKEN}")}),
            false => json!({"url": self.url}),
        };
        json!({"mcpServers": {"haft": server}})
    }

    fn code(&self) -> Value {
        if !self.token {
            return json!({"servers": {"haft": {"type": "http", "url": self.url}}});
        }
        let header = bearer("${input:haft-token}");
        json!({
            "servers": {"haft": {"type": "http", "url": self.url, "headers": header}},
            "inputs": [{"type": "promptString", "id": "haft-token", "password": true,
                        "description": "a token of Haft"}],
        })
    }

    /// The snippets as JSON.
    pub(super) fn told(&self) -> Value {
        json!({
            "claude_code": self.claude(),
            "codex": self.codex(),
            "cursor": self.cursor(),
            "vscode": self.code(),
        })
    }

    /// The snippets as text for people.
    pub(super) fn shown(&self) -> String {
        let mut text = format!(
            "\nClaude Code   {}\n\
             Codex         ~/.codex/config.toml\n{}\n\
             Cursor        .cursor/mcp.json    {}\n\
             VS Code       .vscode/mcp.json    {}",
            self.claude(),
            indented(&self.codex()),
            self.cursor(),
            self.code(),
        );
        if self.token {
            text.push_str("\n\nHAFT_TOKEN is a token: `haft token new agent:NAME` prints one");
        }
        text
    }
}

fn bearer(token: &str) -> Value {
    json!({"Authorization": format!("Bearer {token}")})
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("              {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_given_its_own_words() {
        let url = "http://127.0.0.1:7311/mcp";
        assert_eq!(
            ClientSnippet { url, token: false }.told(),
            json!({
                "claude_code": "claude mcp add --transport http haft http://127.0.0.1:7311/mcp",
                "codex": "[mcp_servers.haft]\nurl = \"http://127.0.0.1:7311/mcp\"",
                "cursor": {"mcpServers": {"haft": {"url": url}}},
                "vscode": {"servers": {"haft": {"type": "http", "url": url}}},
            })
        );
        let header = json!({"Authorization": "Bearer ${env:HAFT_TOKEN}"});
        let told = ClientSnippet { url, token: true }.told();
        let line = "claude mcp add --transport http haft http://127.0.0.1:7311/mcp \
            --header \"Authorization: Bearer $HAFT_TOKEN\"";
        assert_eq!(told["claude_code"], line);
        let block = "[mcp_servers.haft]\nurl = \"http://127.0.0.1:7311/mcp\"\n\
            bearer_token_env_var = \"HAFT_TOKEN\"";
        assert_eq!(told["codex"], block);
        let haft = json!({"mcpServers": {"haft": {"url": url, "headers": header}}});
        assert_eq!(told["cursor"], haft);
        let asked = told["vscode"].pointer("/servers/haft/headers/Authorization");
        assert_eq!(asked, Some(&json!("Bearer ${input:haft-token}")));
        assert_eq!(told["vscode"].pointer("/inputs/0/id"), Some(&json!("haft-token")));
    }
}
