//! OTLP interoperability: spans are decoded by the definitions that OpenTelemetry publishes for
//! Python, fetched once by pip. Without Python the test fails: what was not tried is not known to
//! work.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use haft_testkit::{Folder, installed};
use serde_json::{Value, json};

use crate::wire::Server;

const PACKAGES: [&str; 1] = ["opentelemetry-proto==1.45.2"];

/// The receiver until its test ends.
struct Receiver {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Receiver {
    fn new() -> Receiver {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("telemetry/python");
        let python = installed::python(place, &PACKAGES).join("bin/python");
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign/telemetry/receiver.py");
        let mut child = Command::new(python).arg(script).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        Receiver { child, said }
    }

    fn line(&mut self) -> String {
        self.said.next().unwrap().unwrap()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn python_otlp_receiver_decodes_spans() {
    let mut receiver = Receiver::new();
    let port = receiver.line();
    let settings = format!("[telemetry]\nendpoint = \"http://127.0.0.1:{port}\"\n");
    let folder = Folder::new().file("haft.toml", settings).file("notes.txt", "flour\n");
    let server = Server::of(&folder);
    let call = json!({ "tool": "fs.read", "input": { "path": "notes.txt" } });
    let done = server.post("/v1/call", &call).json();
    let read: Value = serde_json::from_str(&receiver.line()).unwrap();
    let all = &read["resourceSpans"][0];
    assert_eq!(
        all["resource"]["attributes"],
        json!([{ "key": "service.name", "value": { "stringValue": "haft" } }])
    );
    let spans = all["scopeSpans"][0]["spans"].as_array().unwrap_or_else(|| panic!("{read:#}"));
    let names: Vec<_> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["execute_tool fs.read", "plan", "queue", "attempt haft-builtin", "finish"]);
    let whole = &spans[0];
    let id =
        json!({ "key": "haft.invocation.id", "value": { "stringValue": done["invocation_id"] } });
    assert!(whole["attributes"].as_array().unwrap().contains(&id), "{whole:#}");
    assert_eq!(whole["kind"], "SPAN_KIND_INTERNAL");
    assert_eq!(spans[3]["kind"], "SPAN_KIND_CLIENT");
    assert_eq!(spans[3]["parentSpanId"], whole["spanId"]);
}
