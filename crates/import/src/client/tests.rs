//! Client settings tests: settings of other programs in, servers out.

use super::*;

/// The servers of some settings, each as one line.
fn check(file: &str, text: &str, expected: &[&str]) {
    let found = servers(file, text).unwrap().into_iter().map(|listed| match listed {
        Err(why) => why,
        Ok(ListedServer { name, server: ServerSource::Program { command, env } }) => {
            format!("{name}: {} {env:?}", command.join(" "))
        }
        Ok(ListedServer {
            name,
            server: ServerSource::Remote { url, headers, sse, login: None },
        }) => {
            format!("{name}: {url} {headers:?}{}", if sse { " sse" } else { "" })
        }
        Ok(ListedServer { name, .. }) => format!("{name} has a login of ours"),
    });
    assert_eq!(found.collect::<Vec<_>>(), expected, "{file}");
}

#[test]
fn claude_and_cursor_list_servers_by_name() {
    let text = r#"{ "mcpServers": {
        "files": { "command": "npx", "args": ["-y", "@x/files", "."], "env": { "DEBUG": 1 } },
        "far": { "type": "sse", "url": "https://mcp.example/sse", "headers": { "X": "y" } },
        "off": { "command": "x", "disabled": true },
        "empty": {}
    } }"#;
    let expected = [
        r#"files: npx -y @x/files . {"DEBUG": "1"}"#,
        r#"far: https://mcp.example/sse {"X": "y"} sse"#,
        "`off` is switched off there",
        "`empty` has neither a command nor an address",
    ];
    check("claude_desktop_config.json", text, &expected);
}

#[test]
fn vs_code_allows_comments_and_asks_for_inputs() {
    let text = r#"{
        // what is asked for
        "inputs": [{ "id": "key", "type": "promptString", "password": true, }],
        "servers": {
            "notes": { /* a program */ "command": "notes", "env": { "KEY": "${input:key}", "URL": "http://a//b" } },
        },
    }"#;
    let expected = [r#"notes: notes {"KEY": "${input:key}", "URL": "http://a//b"}"#];
    check(".vscode/mcp.json", text, &expected);
}

#[test]
fn codex_writes_toml() {
    let text = "model = \"x\"\n[mcp_servers.notes]\ncommand = \"uvx\"\nargs = [\"notes\"]\n\
                [mcp_servers.notes.env]\nLEVEL = \"2\"\n[mcp_servers.far]\nurl = \"https://mcp.example\"\n\
                bearer_token_env_var = \"FAR\"\n";
    let expected = [
        r#"notes: uvx notes {"LEVEL": "2"}"#,
        r#"far: https://mcp.example {"Authorization": "Bearer ${FAR}"}"#,
    ];
    check("config.toml", text, &expected);
}

#[test]
fn what_holds_no_servers_is_refused() {
    for (file, text) in [("a.json", "{}"), ("a.toml", "x = 1"), ("a.json", "{"), ("a.toml", "x = ")]
    {
        assert!(servers(file, text).is_err(), "{file} {text}");
    }
}
