//! `haft add` tests.

use std::fs;

use haft_testkit::{Act, Backend, Folder, Keys, Then};
use serde_json::{Value, json};

use crate::stage::{check, done, json, run};

/// A service with two operations, at an address.
fn service(server: &str) -> String {
    format!(
        r#"
openapi: 3.1.0
info: {{ title: Notes }}
servers: [{{ url: "{server}" }}]
paths:
  /notes:
    get:
      operationId: listNotes
      summary: List notes
      parameters: [{{ name: about, in: query, schema: {{ type: string }} }}]
      responses:
        "200":
          description: Notes.
          content: {{ application/json: {{ schema: {{ type: array, items: {{ type: string }} }} }} }}
  /notes/{{id}}:
    delete:
      operationId: removeNote
      parameters: [{{ name: id, in: path, required: true, schema: {{ type: string }} }}]
      responses: {{ "204": {{ description: Gone. }} }}
"#
    )
}

fn workspace(document: &str) -> Folder {
    Folder::new().file("haft.toml", "").file("notes.yaml", document)
}

/// Imports the document of a workspace.
fn line(folder: &Folder, more: &str) -> String {
    format!("add openapi {} {more}", folder.path().join("notes.yaml").display())
}

fn read(folder: &Folder, file: &str) -> String {
    fs::read_to_string(folder.path().join(file)).unwrap()
}

fn edit(folder: &Folder, file: &str, from: &str, to: &str) {
    let text = read(folder, file);
    assert!(text.contains(from), "{text}");
    fs::write(folder.path().join(file), text.replace(from, to)).unwrap();
}

#[test]
fn import_reports_written_files_and_guesses_and_checks_clean() {
    let folder = workspace(&service("https://notes.example"));
    check(
        &folder,
        &line(&folder, ""),
        r"
exit 0
wrote .tools/notes.list-notes/TOOL.md
wrote .tools/notes.remove-note/TOOL.md
wrote .drivers/notes/DRIVER.md
guessed effects: reads only, risk 0, runs without asking (HTTP says that GET only reads) in .tools/notes.list-notes/TOOL.md; to change it, edit `mutates`, `risk_level` and `approval` of the contract
guessed effects: irreversible, risk 3, always asks (DELETE takes something away, and nothing says that it can be had back) in .tools/notes.remove-note/TOOL.md; to change it, edit `mutates`, `risk_level` and `approval` of the contract
next: `haft -C [folder] check`; keep .imports/notes/base.json with the rest
",
    );
    check(&folder, "check", "exit 0\nchecked 3 manifests: no errors, no warnings");
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = workspace(&service("https://notes.example"));
    let (exit, told) = json(&folder, &line(&folder, "--dry-run --json"));
    assert_eq!((exit, &told["dry_run"]), (0, &json!(true)));
    assert_eq!(told["wrote"].as_array().unwrap().len(), 3);
    assert!(!folder.path().join(".tools").exists() && !folder.path().join(".imports").exists());
}

#[test]
fn an_imported_operation_can_be_called() {
    let backend = Backend::new(Keys::Ignored);
    let folder = workspace(&service(&format!("http://{}", backend.host())));
    done(&folder, &line(&folder, ""));
    let headers = "Content-Type: application/json\r\n";
    backend.will(Act::commits(Then::Answer(200, headers, b"[\"buy oil\"]".to_vec())));
    let (exit, envelope) = json(&folder, "call notes.list-notes --json");
    assert_eq!(
        (exit, &envelope["structured_content"]),
        (0, &json!({"items": ["buy oil"]})),
        "{envelope:#}"
    );
    let heard: Vec<String> = backend.heard().into_iter().map(|heard| heard.path).collect();
    assert_eq!(heard, ["/notes"]);
}

#[test]
fn a_second_run_keeps_what_people_changed() {
    let folder = workspace(&service("https://notes.example"));
    done(&folder, &line(&folder, ""));
    let (list, remove) = (".tools/notes.list-notes/TOOL.md", ".tools/notes.remove-note/TOOL.md");
    edit(&folder, list, "name: List notes", "name: Look at notes # as people say");
    edit(&folder, list, "risk_level: 0", "risk_level: 1");
    edit(&folder, "notes.yaml", "summary: List notes", "summary: List all notes");
    edit(&folder, "notes.yaml", "name: about", "name: words");
    fs::remove_file(folder.path().join(remove)).unwrap();
    let (exit, told) = json(&folder, &line(&folder, "--json"));
    assert_eq!(exit, 0);
    assert_eq!(told["wrote"], json!([list, ".drivers/notes/DRIVER.md"]));
    assert_eq!(
        told["kept"],
        json!([{ "file": remove, "why": "it was deleted here, and stays deleted" }])
    );
    let conflict = json!([{
        "file": list, "field": "name", "yours": "Look at notes", "theirs": "List all notes",
    }]);
    assert_eq!(told["conflicts"], conflict);
    let text = read(&folder, list);
    for kept in [
        "name: Look at notes # as people say",
        "risk_level: 1",
        "words: {",
        "description: List all notes",
    ] {
        assert!(text.contains(kept), "{kept}\n{text}");
    }
    assert!(!folder.path().join(remove).exists());
    let (_, told) = json(&folder, &line(&folder, "--json"));
    assert_eq!(told["wrote"], json!([]));
}

#[test]
fn what_vanished_is_kept_until_it_is_to_go() {
    let folder = workspace(&service("https://notes.example"));
    done(&folder, &line(&folder, ""));
    let document = service("https://notes.example");
    let shorter = document.split("  /notes/{id}:").next().unwrap();
    fs::write(folder.path().join("notes.yaml"), shorter).unwrap();
    let remove = ".tools/notes.remove-note/TOOL.md";
    let (_, told) = json(&folder, &line(&folder, "--json"));
    let why = "the source no longer has it; `--prune` removes it";
    assert_eq!(
        (&told["kept"], &told["removed"]),
        (&json!([{ "file": remove, "why": why }]), &json!([]))
    );
    let (_, told) = json(&folder, &line(&folder, "--prune --json"));
    assert_eq!((&told["kept"], &told["removed"]), (&json!([]), &json!([remove])));
    assert!(!folder.path().join(".tools/notes.remove-note").exists());
    check(&folder, "check", "exit 0\nchecked 2 manifests: no errors, no warnings");
}

#[test]
fn import_without_overwrite_keeps_existing_foreign_file() {
    let file = ".tools/notes.list-notes/TOOL.md";
    let folder = workspace(&service("https://notes.example")).file(file, "mine");
    let (_, told) = json(&folder, &line(&folder, "--json"));
    assert_eq!(told["conflicts"][0]["file"], file);
    assert_eq!(read(&folder, file), "mine");
    done(&folder, &line(&folder, "--overwrite"));
    assert!(read(&folder, file).contains("id: notes.list-notes"));
}

#[test]
fn what_cannot_be_imported_is_said() {
    let folder = workspace("swagger: '1.2'");
    let ran = run(&folder, &line(&folder, ""));
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(said.contains("it is Swagger 1.2; convert it to OpenAPI 3 first"), "{said}");
    assert_eq!(ran.status.code(), Some(1));
    let folder = workspace(&service("https://notes.example"));
    let ran = run(&folder, &line(&folder, "--only nothing.*"));
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(said.contains("no operation is called `nothing.*`"), "{said}");
}

#[test]
fn a_document_is_fetched_from_an_address() {
    let backend = Backend::new(Keys::Ignored);
    let document = service("/v2");
    backend.will(Act::commits(Then::Answer(200, "", document.into_bytes())));
    let folder = workspace("");
    done(&folder, &format!("add openapi http://{}/notes.yaml?key=x", backend.host()));
    let driver = read(&folder, ".drivers/notes/DRIVER.md");
    assert!(driver.contains(&format!("base_url: http://{}/v2", backend.host())), "{driver}");
    assert!(!driver.contains("key=x"), "{driver}");
}

#[test]
fn client_settings_and_server_tools_import_without_secret_values() {
    let tools = json!({ "tools": [{ "name": "find", "annotations": { "readOnlyHint": true } }] });
    let settings = json!({ "mcpServers": {
        "Lost Things": { "command": "uvx", "args": ["lost"], "env": { "LOST_TOKEN": "not-a-real-one" } },
        "gone": { "command": "gone" },
    } });
    let folder = Folder::new()
        .file("haft.toml", "")
        .file("lists/lost-things.json", tools.to_string())
        .file("settings.json", settings.to_string());
    let at = |file: &str| folder.path().join(file).display().to_string();
    let (settings, lists) = (at("settings.json"), at("lists"));
    // One of the two servers has no list, and is left out.
    let (exit, told) = json(&folder, &format!("add client {settings} --lists {lists} --json"));
    let told = &told["imports"][0];
    assert_eq!((exit, &told["import"]), (1, &json!("lost-things")));
    let secrets: Vec<&Value> =
        told["secrets"].as_array().unwrap().iter().map(|one| &one["variable"]).collect();
    assert_eq!(secrets, ["LOST_THINGS_LOST_TOKEN"]);
    let all = [
        ".drivers/lost-things/DRIVER.md",
        ".secrets/lost-things/SECRETS.md",
        ".imports/lost-things/base.json",
    ];
    assert!(all.iter().all(|file| !read(&folder, file).contains("not-a-real-one")));
    check(&folder, "check", "exit 0\nchecked 3 manifests: no errors, no warnings");
    let (exit, told) = json(
        &folder,
        &format!(
            "add mcp --list {} --json --id other ./bin/x --stdio",
            at("lists/lost-things.json")
        ),
    );
    assert_eq!((exit, &told["wrote"][0]), (0, &json!(".tools/other.find/TOOL.md")));
    let ran = run(&folder, "add mcp ./bin/x");
    assert!(String::from_utf8(ran.stderr).unwrap().contains("--list FILE"));
}

#[cfg(target_os = "linux")]
#[test]
fn cli_import_reads_help_and_keeps_earlier_commands() {
    let script = "#!/bin/sh\ncase \"$1\" in\n\
        add) echo 'usage: tally add [--twice] <what>' ;;\n\
        show) echo 'usage: tally show' ;;\n\
        *) printf 'Counts things.\\n\\nUsage: tally COMMAND\\n\\nCommands:\\n  add   Add one\\n  show  Show all\\n' ;;\n\
        esac\n";
    let folder = Folder::new().file("haft.toml", "").file("tally", script);
    let path = folder.path().join("tally");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (exit, told) = json(&folder, "add cli ./tally add --json");
    assert_eq!(
        (exit, &told["wrote"]),
        (0, &json!([".tools/tally.add/TOOL.md", ".drivers/tally/DRIVER.md"])),
        "{told:#}"
    );
    let (exit, told) = json(&folder, "add cli ./tally --json");
    assert_eq!(
        (exit, &told["wrote"]),
        (0, &json!([".tools/tally.show/TOOL.md", ".drivers/tally/DRIVER.md"])),
        "{told:#}"
    );
    check(&folder, "check", "exit 0\nchecked 3 manifests: no errors, no warnings");
}

/// A server of one tool, which speaks the older way.
#[cfg(target_os = "linux")]
const SERVER: &str = r#"#!/bin/sh
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"lost","version":"1"}}}\n' "$id" ;;
    *'"method":"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
  esac
done
"#;

#[cfg(target_os = "linux")]
#[test]
fn a_server_is_started_and_asked_for_its_tools() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new().file("haft.toml", "").file("bin/lost", SERVER);
    let program = folder.path().join("bin/lost");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (exit, told) = json(&folder, "add mcp --json --id lost ./bin/lost");
    assert_eq!((exit, &told["wrote"][0]), (0, &json!(".tools/lost.find/TOOL.md")));
    check(&folder, "check", "exit 0\nchecked 2 manifests: no errors, no warnings");
}

/// Two imports of one name would take each other's files away.
#[test]
fn import_id_taken_by_other_import_kind_is_refused() {
    let folder = workspace(&service("https://notes.example"))
        .file("tools.json", r#"{"tools": [{"name": "read", "inputSchema": {"type": "object"}}]}"#);
    let file = |name: &str| folder.path().join(name).display().to_string();
    done(&folder, &format!("add openapi {}", file("notes.yaml")));
    let driver = folder.read(".drivers/notes/DRIVER.md");
    let line = format!("add mcp --list {} --id notes npx -y @notes/server", file("tools.json"));
    check(
        &folder,
        &line,
        "exit 1\n! error: `notes` is what `haft add openapi` made of something else; give one of them another name with `--id`",
    );
    assert_eq!(folder.read(".drivers/notes/DRIVER.md"), driver);
    done(&folder, &line.replace("--id notes", "--id server"));
}

/// A document whose parts stand in files: one below it, one beside its folder, one behind a link.
#[cfg(unix)]
#[test]
fn document_in_several_files_is_read_within_its_folder() {
    let document = r#"
openapi: 3.1.0
info: { title: Notes }
servers: [{ url: "https://notes.example" }]
paths:
  /notes:
    get:
      operationId: listNotes
      parameters: [{ $ref: "parts/parameters.yaml#/about" }]
      responses: { "200": { description: Notes. } }
  /outside:
    get: { parameters: [{ $ref: "../outside.yaml#/p" }], responses: {} }
  /linked:
    get: { parameters: [{ $ref: "linked.yaml#/p" }], responses: {} }
"#;
    let secret = "p: { name: p, in: query, schema: { type: string } }";
    let folder = Folder::new()
        .file("haft.toml", "")
        .file("api/notes.yaml", document)
        .file("api/parts/parameters.yaml", "about: { $ref: words.json }")
        .file(
            "api/parts/words.json",
            r#"{"name": "about", "in": "query", "schema": {"type": "string"}}"#,
        )
        .file("outside.yaml", secret);
    let at = |file: &str| folder.path().join(file);
    std::os::unix::fs::symlink(at("outside.yaml"), at("api/linked.yaml")).unwrap();
    let (exit, told) =
        json(&folder, &format!("add openapi {} --json", at("api/notes.yaml").display()));
    assert_eq!(exit, 0, "{told:#}");
    let out = "it leads out of the folder of the document, and is not followed";
    let link = "it is a link that leads out of the folder of the document";
    let why = |file: &str| format!("`{file}#/p` cannot be followed, and the request depends on it");
    assert_eq!(
        told["skipped"],
        json!([
            { "what": "GET /outside", "why": why("../outside.yaml") },
            { "what": "GET /linked", "why": why("linked.yaml") },
            { "what": "../outside.yaml#/p", "why": out },
            { "what": "linked.yaml", "why": link },
        ])
    );
    assert!(read(&folder, ".tools/notes.list-notes/TOOL.md").contains("about: { type: string }"));
    check(&folder, "check", "exit 0\nchecked 2 manifests: no errors, no warnings");
}
