//! Invocation history (§23, test 20 over HTTP): one contract, called in four ways, told from the
//! log alone.

use std::collections::BTreeMap;
use std::fs;

use haft_testkit::{Act, Backend, Folder, Keys, Then};
use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::{self, done};
use crate::twenty::export::all_fit;
use crate::twenty::{program, word};
use crate::wire::Server;

const DOCUMENT: &str = r#"
openapi: 3.1.0
info: { title: Notes }
servers: [{ url: "http://HOST" }]
paths:
  /notes:
    get:
      operationId: listNotes
      summary: List notes
      parameters: [{ name: about, in: query, schema: { type: string } }]
      responses:
        "200":
          description: Notes.
          content: { application/json: { schema: { type: array, items: { type: string } } } }
"#;

/// A program that serves the contract which was imported from the document.
const PROGRAM: &str = "---\nname: Notes at hand\nid: notes-cli\ndescription: Notes in a file.\n\
    version: 1.0.0\nkind: cli\nbin: ./bin/notes\noutput: { default_format: json }\nsandbox: { fs: { read: [\"./**\"], write: [] } }\n\
    implements:\n  - tool: notes.list-notes\n    version: ^1\n    \
    metadata: { cli: { argv: [\"list\", \"${input.about}\"] } }\n---\n";

/// A tool that an older runtime described, with an unknown field.
const OLD_TOOL: &str = r#"{ "schema_version": "0.1.1", "tool_id": "old.look@1", "name": "look",
    "namespace": "old", "description": "Looks.", "lifecycle": "available", "tool_kind": "function",
    "input_contract": { "schema": { "type": "object" } }, "vendor_note": { "kept": [1, 2] } }"#;

/// The projections of the log.
const LISTS: [&str; 9] = [
    "runs",
    "questions",
    "answers",
    "standing",
    "declared",
    "intents",
    "uses",
    "undoings",
    "tokens",
];

fn workspace(backend: &Backend) -> Folder {
    let rules = "[[rule]]\ntool = \"time.now\"\nverdict = \"deny\"\nreason = \"no clocks\"\n";
    let folder = Folder::new()
        .file("haft.toml", format!("[workspace]\nname = \"notes\"\n{rules}"))
        .file("notes.yaml", DOCUMENT.replace("HOST", &backend.host()))
        .file(".tools/old.tool.json", OLD_TOOL)
        .file(".drivers/notes-cli/DRIVER.md", PROGRAM);
    let script =
        "[ \"$2\" = bad ] && { echo broken >&2; exit 3; }\necho '{\"items\": [\"oil\"]}'\n";
    let folder = program(folder, "bin/notes", script);
    done(&folder, &format!("add openapi {}", folder.path().join("notes.yaml").display()));
    done(&folder, "accept --all");
    folder
}

/// The calls, with what each is to be known by and how it has to end.
struct Calls {
    ids: BTreeMap<&'static str, String>,
    errors: BTreeMap<&'static str, Value>,
}

fn called(server: &Server, backend: &Backend) -> Calls {
    let oil = Act::commits(Then::json(200, "[\"oil\"]"));
    (0..3).for_each(|_| backend.will(oil.clone()));
    let mut calls = Calls { ids: BTreeMap::new(), errors: BTreeMap::new() };
    let mut add = |name: &'static str, envelope: &Value| {
        calls.ids.insert(name, word(&envelope["invocation_id"]));
        calls.errors.insert(name, envelope["error"].clone());
    };
    let client = Client { server, session: None };
    let answer = client.call("notes.list-notes", json!({ "about": "food" }));
    assert_eq!(answer["structuredContent"], json!({ "items": ["oil"] }), "{answer:#}");
    let id = &answer["_meta"]["dev.haft/invocation-id"];
    add("mcp", &json!({ "invocation_id": id, "error": null }));

    let names = server.get("/v1/functions/openai").json()["tools"].to_string();
    assert!(names.contains("notes_list-notes"), "{names}");
    let function = json!({ "name": "notes_list-notes", "arguments": "{\"about\": \"food\"}" });
    let reply =
        json!({ "tool_calls": [{ "id": "call_7", "type": "function", "function": function }] });
    let answer = server.post("/v1/functions/openai", &reply).json();
    add("functions", &answer["results"][0]);

    let rest = |tool: &str, input: Value, pin: Option<&str>| {
        let body = json!({ "tool": tool, "input": input, "pin": pin });
        server.post("/v1/call", &body).json()
    };
    let tool = "notes.list-notes";
    add("http", &rest(tool, json!({ "about": "food" }), Some("notes")));
    let by_program = rest(tool, json!({ "about": "food" }), Some("notes-cli"));
    assert_eq!(by_program["structured_content"], json!({ "items": ["oil"] }), "{by_program:#}");
    add("cli", &by_program);

    // And every failure that needs no person.
    add("cli failed", &rest(tool, json!({ "about": "bad" }), Some("notes-cli")));
    backend.will(Act::refuses(Then::json(404, "{}")));
    add("not found", &rest(tool, json!({}), Some("notes")));
    backend.will(Act::refuses(Then::json(403, "{}")));
    add("forbidden", &rest(tool, json!({}), Some("notes")));
    backend.will(Act::refuses(Then::Answer(429, "Retry-After: 3600\r\n", Vec::new())));
    add("too often", &rest(tool, json!({}), Some("notes")));
    backend.will(Act::commits(Then::json(200, "{\"no\": \"list\"}")));
    add("unfit", &rest(tool, json!({}), Some("notes")));
    add("unknown", &rest("nothing.here", json!({}), None));
    add("schema", &rest(tool, json!({ "about": 7 }), None));
    add("denied", &rest("time.now", json!({}), None));
    add("no driver", &rest("old.look", json!({}), None));
    calls
}

/// What §22.1 calls each end: ours, Agent Tool's, AIP-14's and ARuntime's.
const CODES: [(&str, [&str; 4]); 9] = [
    (
        "cli failed",
        ["execution.failed", "execution_failed", "upstream_error", "x:execution.failed"],
    ),
    ("not found", ["resource.not_found", "execution_failed", "not_found", "input.invalid"]),
    ("forbidden", ["permission.denied", "permission_denied", "unauthorised", "permission.denied"]),
    ("too often", ["rate.limited", "rate_limited", "rate_limited", "rate.exceeded"]),
    ("unfit", ["output.invalid", "result_mapping_failed", "upstream_error", "output.invalid"]),
    ("unknown", ["tool.unknown", "unknown_tool", "not_found", "input.invalid"]),
    ("schema", ["input.schema", "schema_validation_failed", "input_invalid", "input.invalid"]),
    ("denied", ["permission.denied", "permission_denied", "unauthorised", "permission.denied"]),
    ("no driver", ["route.none", "capability_gap", "no_route", "dependency.unavailable"]),
];

/// The invocation record among the records of a call.
fn invocation(records: &Value) -> &Value {
    let found = records.as_array().unwrap().iter().find(|one| one["kind"] == "invocation");
    &found.unwrap()["record"]
}

/// One field of one of the things that a call is known by.
#[track_caller]
fn known_by(record: &Value, field: &str) -> Value {
    let own = record["native_refs"].as_array().into_iter().flatten();
    let attempts = record["attempts"].as_array().into_iter().flatten();
    let theirs = attempts.flat_map(|attempt| attempt["native"].as_array().into_iter().flatten());
    let found = own.chain(theirs).find_map(|one| one.get(field));
    found.unwrap_or_else(|| panic!("no {field} in {record:#}")).clone()
}

/// Everything that is told of every call, over both ways of asking.
fn told(folder: &Folder, calls: &Calls) -> BTreeMap<String, Value> {
    let server = Server::of(folder);
    let mut all = BTreeMap::new();
    for (name, id) in &calls.ids {
        let printed = stage::run(folder, &format!("trace {id} --records")).stdout;
        all.insert(format!("{name} records"), serde_json::from_slice(&printed).unwrap());
        for path in ["", "/trace"] {
            let answer = server.get(&format!("/v1/invocations/{id}{path}"));
            all.insert(format!("{name}{path}"), answer.json());
        }
    }
    let list = server.get("/v1/invocations?limit=100").json();
    all.insert("list".to_owned(), list);
    all
}

fn check_records(calls: &Calls, told: &BTreeMap<String, Value>) {
    for name in calls.ids.keys() {
        let record = invocation(&told[&format!("{name} records")]);
        let numbers: Vec<_> = record["phase_log"].as_array().unwrap().iter().collect();
        let mut phases: Vec<u64> =
            numbers.iter().map(|phase| phase["phase"].as_u64().unwrap()).collect();
        phases.sort_unstable();
        assert_eq!(phases, (1..=13).collect::<Vec<u64>>(), "{name}: {record:#}");
    }
    let of = |name: &str| invocation(&told[&format!("{name} records")]);
    assert_eq!(known_by(of("mcp"), "jsonrpc_request_id"), 1);
    assert_eq!(known_by(of("mcp"), "operation_id"), "listNotes");
    assert_eq!(known_by(of("functions"), "tool_call_id"), "call_7");
    assert_eq!(known_by(of("http"), "operation_id"), "listNotes");
    assert_eq!(known_by(of("http"), "path"), "/v1/call");
    assert_eq!(known_by(of("cli"), "exit_code"), 0);
    assert_eq!(known_by(of("cli failed"), "exit_code"), 3);
    let argv = word(&known_by(of("cli"), "argv_ref"));
    assert!(argv.starts_with("sha256:"), "{argv}");
    assert_ne!(word(&known_by(of("cli failed"), "argv_ref")), argv);
    let drivers =
        ["mcp", "functions", "http", "cli"].map(|name| &of(name)["attempts"][0]["driver"]);
    assert_eq!(drivers, ["notes", "notes", "notes", "notes-cli"]);
    for (name, [code, class, aip, aruntime]) in CODES {
        let error = &calls.errors[name];
        let words =
            ["error_code", "error_class", "aip_code", "aruntime_code"].map(|word| &error[word]);
        assert_eq!(words, [code, class, aip, aruntime], "{name}: {error:#}");
    }
}

/// What `haft audit read` gives back of records in a file.
#[track_caller]
fn read_back(folder: &Folder, records: &Value) -> Vec<Value> {
    let file = folder.path().join("records.json");
    fs::write(&file, records.to_string()).unwrap();
    let ran = stage::run(folder, &format!("audit read {} --json", file.display()));
    assert!(ran.status.success(), "{ran:?}");
    serde_json::from_slice::<Vec<Value>>(&ran.stdout).unwrap()
}

#[test]
fn test_20_log_rebuilds_history_and_reads_foreign_records() {
    let backend = Backend::new(Keys::Ignored);
    let folder = workspace(&backend);
    let mut server = Server::of(&folder);
    let calls = called(&server, &backend);
    server.end();
    let before = told(&folder, &calls);
    check_records(&calls, &before);
    all_fit(&folder);

    // The projections are gone, and the log rebuilds them.
    let db = rusqlite::Connection::open(folder.path().join(".haft/haft.db")).unwrap();
    for list in LISTS {
        db.execute_batch(&format!("DELETE FROM {list}")).unwrap();
    }
    drop(db);
    let (exit, verified) = stage::json(&folder, "audit verify --json");
    assert_eq!(exit, 1, "{verified:#}");
    let (_, lost) = stage::json(&folder, "runs --json");
    assert_eq!(lost, json!([]));
    let (exit, rebuilt) = stage::json(&folder, "audit rebuild --json");
    assert_eq!(exit, 0, "{rebuilt:#}");
    let after = told(&folder, &calls);
    for (what, told) in &before {
        assert_eq!(&after[what], told, "{what}");
    }
    let (exit, verified) = stage::json(&folder, "audit verify --json");
    assert_eq!(exit, 0, "{verified:#}");

    // What was written is read back as it was, and so is what an older or a later runtime wrote.
    let all = before.iter().filter(|(what, _)| what.ends_with(" records"));
    let all: Vec<Value> =
        all.flat_map(|(_, records)| records.as_array().unwrap().clone()).collect();
    assert_eq!(read_back(&folder, &json!(all)), all);
    let strange = all.into_iter().map(|mut one| {
        one["record"]["x_vendor"] = json!({ "deep": [null, 1.5, "ü"] });
        one
    });
    let strange: Vec<Value> = strange.collect();
    assert_eq!(read_back(&folder, &json!(strange)), strange);
    let old = json!([
        { "schema_version": "0.1.1", "invocation_id": "inv-old", "tool_id": "a@1",
          "status": "approved", "created_at": "2025-01-01T00:00:00Z", "x_vendor": 7 },
        { "schema_version": "0.1.1", "event_id": "e-1", "source": "old", "time": "2025-01-01T00:00:00Z",
          "event_type": "tool.invocation.approved", "data": { "by": "ana" } },
    ]);
    let read = read_back(&folder, &old);
    assert_eq!(
        json!(read),
        json!([
            { "kind": "invocation", "was": "0.1.1", "record": {
                "schema_version": "0.2.0", "invocation_id": "inv-old", "tool_id": "a@1",
                "status": "approved", "created_at": "2025-01-01T00:00:00Z", "x_vendor": 7 } },
            { "kind": "event", "was": "0.1.1", "record": {
                "schema_version": "0.2.0", "event_id": "e-1", "source": "old",
                "time": "2025-01-01T00:00:00Z", "event_type": "tool.permission.decided",
                "data": { "by": "ana" }, "native_event_type": "tool.invocation.approved" } },
        ])
    );
    let (exit, exported) = stage::json(&folder, "export agent-tool --json");
    assert_eq!(exit, 0);
    let exported = exported.to_string();
    assert!(exported.contains("\"vendor_note\":{\"kept\":[1,2]}"), "{exported}");
}
