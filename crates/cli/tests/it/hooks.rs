//! Hook tests from the terminal: real programs, and a real address.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;

use haft_model::Signature;
use serde_json::json;

use crate::call::shop;
use crate::stage::{command, json as answer, run};

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
