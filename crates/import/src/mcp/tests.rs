//! MCP import tests: which values count as secrets, and how servers are named.

use serde_json::json;

use super::launch::{looks_secret, program_name};
use super::{McpOptions, ServerSource, import};

#[test]
fn what_looks_like_a_secret_is_not_written_down() {
    let long = "a1".repeat(15);
    for (name, value, secret) in [
        ("API_KEY", "x", true),
        ("GITHUB_TOKEN", "x", true),
        ("tokens", "x", true),
        ("DATABASE_URL", "sqlite:notes.db", true),
        ("URL", "https://ana:word@db.example/x", true),
        ("WHATEVER", long.as_str(), true),
        ("USE_AUTH", "true", false),
        ("KEYBOARD", "qwerty", false),
        ("PATH_TO_NOTES", "./notes/of/last/year/and/the/one/before", false),
        ("LOG_LEVEL", "debug", false),
        ("URL", "https://db.example/x", false),
    ] {
        assert_eq!(looks_secret(name, value), secret, "{name}={value}");
    }
}

#[test]
fn a_server_is_called_after_what_it_runs() {
    for (command, name) in [
        ("npx -y @notes/server@1.2.0 --x", "server"),
        ("uvx notes-server", "notes-server"),
        ("python3 -m notes.server", "notes.server"),
        ("python3 tools/notes.py", "notes"),
        ("./bin/notes --stdio", "notes"),
        ("", ""),
    ] {
        let command: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        assert_eq!(program_name(&command), name, "{command:?}");
    }
}

#[test]
fn sound_schema_definitions_and_mcp_headers_are_imported() {
    let tool = json!({ "name": "go", "inputSchema": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "place": { "$anchor": "place", "type": "object", "properties": { "street": { "type": "string" } } },
        },
        "properties": {
            "home": { "$ref": "#/$defs/place" },
            "region": { "type": "string", "x-mcp-header": "Region" },
            "odd": { "type": "string", "x-mcp-header": "two words", "$anchor": "7" },
        },
    } });
    let server = ServerSource::Program { command: vec!["x".into()], env: Default::default() };
    let import = import(&json!([tool]), &server, &McpOptions::default()).unwrap();
    let text = &import.files[0].text;
    let expected = r##"inputs:
  "$schema": https://json-schema.org/draft/2020-12/schema
  type: object
  properties:
    home: { "$ref": "#/$defs/place" }
    region: { type: string, x-mcp-header: Region }
    odd: { type: string }
  "$defs":
    place:
      type: object
      "$anchor": place
      properties:
        street: { type: string }
"##;
    assert!(text.contains(expected), "{text}");
}
