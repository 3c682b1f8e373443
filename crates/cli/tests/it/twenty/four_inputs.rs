//! Input stages (§23, test 5): caller, hook and approver each change the input on record.

use haft_model::Digest;
use haft_testkit::{ALLOW, Backend, Folder, Keys, Served};
use serde_json::{Value, json};

use crate::stage::{asked, done, json as answer};
use crate::twenty::export::{all_fit, exported};
use crate::twenty::{hook, program};

const KEEP: &str = "mutates: [\"external:notes\"]\nrisk_level: 1\napproval: always\n\
    inputs:\n  type: object\n  properties:\n    path: { type: string }\n    \
    text: { type: string }\n    shelf: { type: string, default: top }\n    \
    owner: { type: string }\n  required: [path, text]\n  additionalProperties: false\n\
    metadata: { haft: { data: { internal: [/owner] } } }\n";

/// Writes every path out, and says whose the note is.
const HOOK: &str = r#"
input=$(cat)
path=$(printf '%s' "$input" | sed 's/.*"path":"\([^"]*\)".*/\1/')
text=$(printf '%s' "$input" | sed 's/.*"text":"\([^"]*\)".*/\1/')
printf '{"message": "notes lie in /notes", "updated_input": {"path": "/notes/%s", "text": "%s", "shelf": "top", "owner": "ana"}}' "$path" "$text"
"#;

fn notes(backend: &Backend) -> Folder {
    let settings = format!("{ALLOW}{}", hook("pre_tool_use", "note.keep", ".hooks/notes"));
    let folder = Served::by(backend).at("note.keep", KEEP, "POST", "/notes").with(&settings);
    program(folder, ".hooks/notes", HOOK)
}

/// A caller sends a relative path, a hook expands it and adds a field of its own, and the approver
/// changes a third. All four inputs are there afterwards, the first as it was sent, each change
/// with its author; and no outside caller sees the hook's field or can send it.
#[test]
fn test_05_four_inputs() {
    let backend = Backend::new(Keys::Ignored);
    let folder = notes(&backend);
    // The spelling is the caller's own, and stays.
    let sent = "{\"text\":\"one\",\"path\":\"a\\u002etxt\"}";
    let line = format!("call note.keep --as agent:coder --input {sent}");
    let (id, question) = asked(&folder, &line);
    let edited = r#"{"path":"/notes/a.txt","text":"two","shelf":"top","owner":"ana"}"#;
    done(&folder, &format!("approve {question} --edit {edited}"));
    let approved: Value = serde_json::from_str(edited).unwrap();
    let heard: Vec<Value> =
        backend.heard().iter().map(|heard| serde_json::from_str(&heard.body).unwrap()).collect();
    assert_eq!(heard, std::slice::from_ref(&approved), "what was approved is what was sent, once");

    let export = exported(&folder, &id);
    let invocation = export.of("invocation")[0];
    let digests = [
        Digest::of_bytes(sent.as_bytes()),
        Digest::of(&json!({"path": "a.txt", "text": "one", "shelf": "top"})),
        Digest::of(&json!({"path": "/notes/a.txt", "text": "one", "shelf": "top", "owner": "ana"})),
        Digest::of(&approved),
    ];
    for (name, digest) in ["model", "observable", "permission", "call"].iter().zip(&digests) {
        let found = invocation[format!("{name}_input_ref")].as_str().unwrap();
        assert!(found.contains(digest.as_str()), "the {name} input is {found} and not {digest}");
    }
    let mutations: Vec<_> = export
        .of("input-mutation")
        .into_iter()
        .map(|it| [&it["source_type"], &it["source_ref"], &it["changed_fields"]].map(Value::clone))
        .collect();
    assert_eq!(
        mutations,
        [
            [json!("runtime"), json!("haft"), json!(["/shelf"])],
            [json!("hook"), json!(".hooks/notes"), json!(["/path", "/owner"])],
            [json!("permission_prompt"), json!("user:ana"), json!(["/text"])],
        ]
    );
    let said = json!({"type": "message", "text": "notes lie in /notes"});
    assert_eq!(export.of("hook")[0]["outputs"][0], said);

    for format in ["mcp", "openai"] {
        let (_, tools) = answer(&folder, &format!("export {format} note.keep --json"));
        let tools = tools.to_string();
        assert!(tools.contains("\"shelf\"") && !tools.contains("\"owner\""), "{format}: {tools}");
    }
    let (exit, refused) = answer(
        &folder,
        "call note.keep --json --input {\"path\":\"b\",\"text\":\"x\",\"owner\":\"eve\"}",
    );
    assert_eq!((exit, &refused["error"]["error_code"]), (4, &json!("input.schema")), "{refused}");
    assert_eq!(backend.effects(), 1);
    all_fit(&folder);
}
