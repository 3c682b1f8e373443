//! Hooks of haft.toml from the terminal: real programs, and a real address.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use haft_model::{Digest, Signature};
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::call::shop;
use crate::stage::{command, done, json as answer, run};

/// `fs.write` as it is, except that nobody outside may say in which mode.
const WRITE: &str = include_str!("../../../haft/builtin/tools/fs.write/TOOL.md");

/// Puts every note into the folder of notes, as a new file.
const HOOK: &str = r#"#!/bin/sh
input=$(cat)
path=$(printf '%s' "$input" | sed 's/.*"path":"\([^"]*\)".*/\1/')
content=$(printf '%s' "$input" | sed 's/.*"content":"\([^"]*\)".*/\1/')
printf '{"message": "notes lie in notes", "updated_input": {"path": "notes/%s", "content": "%s", "encoding": "utf-8", "mode": "create"}}' "$path" "$content"
"#;

fn notes() -> Folder {
    let internal = "    interrupt: block\n    data: { internal: [/mode] }\n";
    let tool = WRITE
        .replace("requires: {}\n", "requires: {}\ndefault_implementation: haft-builtin\n")
        .replace("      default: replace\n", "")
        .replace("    interrupt: block\n", internal);
    let hook = "[[hook]]\nevent = \"pre_tool_use\"\ntool = \"fs.write\"\nrun = [\".hooks/notes\"]\ntimeout_ms = 20000\n";
    let folder = Folder::new()
        .file("haft.toml", format!("[workspace]\nname = \"shop\"\n{hook}"))
        .file(".tools/fs.write/TOOL.md", tool)
        .file(".hooks/notes", HOOK);
    let program = folder.path().join(".hooks/notes");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn four_inputs() {
    let folder = notes();
    // The spelling is the caller's own, and stays.
    let sent = "{\"path\":\"a.txt\",\"content\":\"one\"}";
    let line = format!("call fs.write --as agent:coder --no-wait --json --input {sent}");
    let (_, envelope) = answer(&folder, &line);
    let id = envelope["approval_id"].as_str().unwrap_or_else(|| panic!("{envelope:#}"));
    let edited = r#"{"path":"notes/a.txt","content":"two","encoding":"utf-8","mode":"create"}"#;
    done(&folder, &format!("approve {id} --edit {edited}"));
    assert_eq!(folder.read("notes/a.txt"), "two");

    let told = String::from_utf8(run(&folder, &format!("trace {id} --records")).stdout).unwrap();
    let records: Vec<Value> = serde_json::from_str(&told).unwrap();
    let of = |kind: &str| -> Vec<&Value> {
        records.iter().filter(|it| it["kind"] == kind).map(|it| &it["record"]).collect()
    };
    let invocation = of("invocation")[0];
    let inputs = ["model", "observable", "permission", "call"]
        .map(|name| invocation[format!("{name}_input_ref")].as_str().unwrap().to_owned());
    let hooked =
        json!({"path": "notes/a.txt", "content": "one", "encoding": "utf-8", "mode": "create"});
    let approved: Value = serde_json::from_str(edited).unwrap();
    let digests = [
        Digest::of_bytes(sent.as_bytes()),
        Digest::of(&json!({"path": "a.txt", "content": "one", "encoding": "utf-8"})),
        Digest::of(&hooked),
        Digest::of(&approved),
    ];
    for (found, digest) in inputs.iter().zip(&digests) {
        assert!(found.contains(digest.as_str()), "{found} is not {digest}: {inputs:?}");
    }
    let mutations: Vec<_> = of("input-mutation")
        .into_iter()
        .map(|it| {
            (it["source_type"].clone(), it["source_ref"].clone(), it["changed_fields"].clone())
        })
        .collect();
    assert_eq!(
        mutations,
        [
            (json!("runtime"), json!("haft"), json!(["/encoding"])),
            (json!("hook"), json!(".hooks/notes"), json!(["/path", "/mode"])),
            (json!("permission_prompt"), json!("user:ana"), json!(["/content"])),
        ]
    );
    let hook = of("hook")[0];
    assert_eq!(hook["outputs"][0], json!({"type": "message", "text": "notes lie in notes"}));

    // The internal field is shown to nobody, and taken from nobody outside.
    let (_, tools) = answer(&folder, "export mcp fs.write --json");
    let tools = tools.to_string();
    assert!(tools.contains("\"encoding\"") && !tools.contains("\"mode\""), "{tools}");
    let (exit, refused) = answer(
        &folder,
        "call fs.write --json --input {\"path\":\"b.txt\",\"content\":\"x\",\"mode\":\"replace\"}",
    );
    assert_eq!((exit, &refused["error"]["error_code"]), (4, &json!("input.schema")), "{refused}");
}

#[test]
fn a_hook_that_fails_is_told_at_the_terminal() {
    let hook = "[[hook]]\nevent = \"pre_tool_use\"\nrun = [\"sh\", \"-c\", \"echo out of order >&2; exit 4\"]\ntimeout_ms = 20000\n";
    let folder = shop().file("haft.toml", format!("[workspace]\nname = \"shop\"\n{hook}"));
    let (exit, envelope) = answer(&folder, "call time.now --json");
    let error = &envelope["error"];
    assert_eq!((exit, &error["error_code"]), (1, &json!("hook.failed")));
    assert_eq!(
        error["message"],
        "hook `sh -c echo out of order >&2; exit 4` could not be heard: it ended with code 4: out of order"
    );
}

#[test]
fn a_secret_that_signs_is_nowhere_to_be_seen() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut piece = [0; 4096];
        // The body is one object, and the last thing that is sent.
        while !request.ends_with(b"}") {
            let length = stream.read(&mut piece).unwrap();
            assert!(length > 0);
            request.extend_from_slice(&piece[..length]);
        }
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 18\r\nconnection: close\r\n\r\n{\"message\": \"hi\"}\n";
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(request).unwrap()
    });
    let hook = format!(
        "[[hook]]\nevent = \"pre_tool_use\"\nurl = \"{url}\"\nsecret = \"hooks/key\"\ntimeout_ms = 20000\n"
    );
    let inventory = "---\nsecrets:\n  - slug: hooks/key\n    name: Key\n    description: Signs what hooks are asked.\n    kind: opaque\n    access: { bind: [{ role: admin }] }\n    exposures: [{ kind: env, name: SHOP_HOOK_KEY, field: value }]\n---\n";
    let folder = shop()
        .file("haft.toml", format!("[workspace]\nname = \"shop\"\n{hook}"))
        .file(".secrets/SECRETS.md", inventory);
    let secret = "this-signs-and-is-never-shown";
    let called = command(&folder, "call time.now")
        .env("SHOP_HOOK_KEY", secret)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert!(called.status.success(), "{called:?}");
    let request = server.join().unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let header = |name: &str| {
        let line = head.lines().find(|line| line.to_lowercase().starts_with(name)).unwrap();
        line.split_once(": ").unwrap().1.to_owned()
    };
    let signature = header("haft-signature");
    let signed = format!("{}.{body}", header("haft-timestamp"));
    let signature = Signature::from(signature.strip_prefix("v1=").unwrap());
    assert!(signature.is_of(secret.as_bytes(), signed.as_bytes()));
    assert!(!request.contains(secret));
    let said = [called.stdout, called.stderr].concat();
    let trace = run(&folder, "trace inv --json").stdout;
    assert!(!String::from_utf8([said, trace].concat()).unwrap().contains(secret));
    let mut folders = vec![folder.path().to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => {
                    let bytes = std::fs::read(entry.path()).unwrap();
                    let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
                    assert!(!found, "{:?}", entry.path());
                }
            }
        }
    }
}
