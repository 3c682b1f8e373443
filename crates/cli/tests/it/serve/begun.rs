//! Startup tests: what a server prints when it begins.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::serve::workspace;
use crate::stage::{command, tool};
use crate::wire::Server;

#[test]
fn serve_json_prints_one_object_with_addresses_and_counts() {
    let settings = "[workspace]\nsandbox = \"off\"\n";
    let folder =
        workspace().file("haft.toml", settings).file(".tools/a.b/TOOL.md", "---\nid: a.b\n---\n");
    let mut command = command(&folder, "serve --listen 127.0.0.1:0 --json");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut told: Value = serde_json::from_str(&line).unwrap();
    let mcp = told["mcp"].as_str().unwrap().to_owned();
    let rest = mcp.replace("/mcp", "/v1");
    let tools = told["tools"].take();
    assert!(tools.as_u64().unwrap() > 3, "{tools}");
    assert!(told["errors"].take().as_u64().unwrap() > 0);
    told["warnings"].take();
    let clients = told["clients"].take();
    let add = format!("claude mcp add --transport http haft {mcp}");
    assert_eq!(clients["claude_code"], add);
    assert_eq!(
        told,
        json!({"mcp": mcp, "rest": rest, "tools": null, "drivers": told["drivers"], "errors": null,
               "warnings": null, "sandbox": "off", "token_required": false, "clients": null})
    );
}

#[test]
fn serve_prints_workspace_errors_and_client_snippets() {
    let broken = "---\nid: a.b\n---\n";
    let folder = workspace().file(".tools/a.b/TOOL.md", broken);
    let server = Server::of(&folder);
    let said =
        crate::serve::eventually(|| Some(server.said()).filter(|said| said.contains("VS Code")));
    let mcp = format!("http://{}/mcp", server.address);
    for part in [
        "\nT001 .tools/a.b/TOOL.md:2:1 `name` is missing from TOOL.md\n",
        "`haft check` shows them all",
        &format!("Claude Code   claude mcp add --transport http haft {mcp}\n"),
        &format!("[mcp_servers.haft]\n              url = \"{mcp}\"\n"),
        &format!("{{\"mcpServers\":{{\"haft\":{{\"url\":\"{mcp}\"}}}}}}"),
        &format!("{{\"servers\":{{\"haft\":{{\"type\":\"http\",\"url\":\"{mcp}\"}}}}}}"),
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    assert!(!said.contains("sandbox is off"), "{said}");
}

#[test]
fn a_hundred_tools_are_served() {
    let tools = (0..100).map(|number| format!("many.t{number}"));
    let folder = tools.fold(workspace(), |folder, id| {
        folder.file(&format!(".tools/{id}/TOOL.md"), tool(&id, "1.0.0", crate::stage::READS))
    });
    let server = Server::of(&folder);
    let ready = server.get("/v1/ready").json();
    assert!(ready["tools"].as_u64().unwrap() >= 100, "{ready}");
}

#[test]
#[cfg(target_os = "linux")]
fn server_raises_open_file_limit_to_hard_limit() {
    let folder = workspace();
    let haft = command(&folder, "serve --listen 127.0.0.1:0 --json");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -Sn 200 && exec \"$0\" \"$@\""]).arg(haft.get_program());
    shell.args(haft.get_args()).stdout(Stdio::piped()).stderr(Stdio::null());
    haft.get_envs().for_each(|(name, value)| {
        value.map(|value| shell.env(name, value));
    });
    let mut child = shell.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let [soft, hard] = files.split_whitespace().take(2).collect::<Vec<_>>()[..] else {
        panic!("{files}")
    };
    assert_eq!(soft, hard);
}
