//! Tests of request bodies: every encoding, and uploads from inside the workspace only.

use std::os::unix::fs::symlink;

use haft_model::Code;
use haft_testkit::{Folder, ReceivedRequest};
use serde_json::{Value, json};

use crate::http::stage::Stage;

fn sent(stage: &Stage, input: Value) -> ReceivedRequest {
    stage.run(input).output();
    stage.backend.heard().pop().unwrap()
}

#[test]
fn a_form_is_written_as_browsers_write_it() {
    let http = json!({"body_template": {
        "a": "${input.text}", "list": "${input.list}", "deep": "${input.deep}",
        "gone": "${input.gone | default(null)}", "n": 1,
    }});
    let stage = Stage::writing(http).haft(json!({
        "body": "form", "query_style": {"deep": {"style": "deepObject"}},
    }));
    let heard = sent(&stage, json!({"text": "x&y=é", "list": [1, "b c"], "deep": {"k": "v"}}));
    assert_eq!(heard.body, "a=x%26y%3D%C3%A9&list=1&list=b%20c&deep%5Bk%5D=v&n=1");
    assert_eq!(heard.header("content-type"), Some("application/x-www-form-urlencoded"));
    let input = Stage::writing(json!({})).haft(json!({"body": "form"}));
    assert_eq!(sent(&input, json!({"order": "o1", "n": true})).body, "reference=o1&n=true");
    let nested = input.preflight(json!({"order": [[1]]})).unwrap_err();
    assert_eq!(nested.code, Code::InputValue);
}

#[test]
fn a_text_is_one_field_and_keeps_its_type() {
    let stage = Stage::writing(json!({"body_template": {"body": "${input.note}"}}));
    let stage = stage.haft(json!({"body": "text"}));
    let heard = sent(&stage, json!({"note": "<a>\n"}));
    assert_eq!(heard.body, "<a>\n");
    assert_eq!(heard.header("content-type"), Some("text/plain; charset=utf-8"));
    let xml = Stage::writing(json!({
        "body_template": {"body": "${input.note}"}, "headers": {"Content-Type": "application/xml"},
    }));
    let heard = sent(&xml.haft(json!({"body": "text"})), json!({"note": "<a/>"}));
    assert_eq!(heard.header("content-type"), Some("application/xml"));
    let two = Stage::writing(json!({})).haft(json!({"body": "text"}));
    assert_eq!(two.preflight(json!({"a": 1, "b": 2})).unwrap_err().code, Code::InputValue);
}

fn uploading(folder: &Folder, template: Value) -> Stage {
    let stage =
        Stage::writing(json!({"body_template": template})).haft(json!({"body": "multipart"}));
    Stage { files: Some(folder.path().to_owned()), ..stage }
}

#[test]
fn parts_are_texts_values_and_files_of_the_workspace() {
    let folder = Folder::new().file("in/report.csv", "a,b\r\n1,2\r\n");
    let stage = uploading(
        &folder,
        json!({
            "note": "${input.note}", "tags": "${input.tags}", "more": {"k": "${input.note}"},
            "each": "${input.each}", "grid": "${input.grid}",
            "report": {"file": "${input.path}"},
            "other": {"file": "in/report.csv", "type": "text/x-own", "name": "q\"\n.bin"},
        }),
    );
    let input = json!({"note": "n1", "tags": ["x", 2], "path": "./in/report.csv",
        "each": [{"k": 1}, {"k": 2}], "grid": [[1], [2]]});
    let heard = sent(&stage, input);
    let media_type = heard.header("content-type").unwrap();
    let boundary = media_type.strip_prefix("multipart/form-data; boundary=").unwrap();
    let named = |name: &str, rest: &str, body: &str| {
        let head = format!("Content-Disposition: form-data; name=\"{name}\"{rest}");
        format!("--{boundary}\r\n{head}\r\n\r\n{body}\r\n")
    };
    let file = "a,b\r\n1,2\r\n";
    let expected = [
        named("note", "", "n1"),
        named("tags", "", "x"),
        named("tags", "", "2"),
        named("more", "\r\nContent-Type: application/json", "{\"k\":\"n1\"}"),
        named("each", "\r\nContent-Type: application/json", "{\"k\":1}"),
        named("each", "\r\nContent-Type: application/json", "{\"k\":2}"),
        named("grid", "\r\nContent-Type: application/json", "[[1],[2]]"),
        named("report", "; filename=\"report.csv\"\r\nContent-Type: text/csv", file),
        named("other", "; filename=\"q%22%0A.bin\"\r\nContent-Type: text/x-own", file),
    ];
    assert_eq!(heard.body, format!("{}--{boundary}--\r\n", expected.concat()));
}

#[test]
fn a_field_with_a_style_is_parts_of_text() {
    let stage = Stage::writing(json!({})).haft(json!({"body": "multipart", "query_style": {
        "ids": {"explode": false}, "tags": {"style": "pipeDelimited"}, "by": {"style": "deepObject"},
    }}));
    let heard = sent(&stage, json!({"ids": [1, 2], "tags": ["a b", "c"], "by": {"day": "x&y"}}));
    let parts: Vec<&str> = heard.body.split("name=").skip(1).collect();
    let parts: Vec<&str> = parts.iter().map(|part| part.split("\r\n--").next().unwrap()).collect();
    let mut expected =
        ["\"ids\"\r\n\r\n1,2", "\"tags\"\r\n\r\na b|c", "\"by[day]\"\r\n\r\nx&y"].to_vec();
    let mut found = parts.clone();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn file_outside_workspace_is_never_uploaded() {
    let folder = Folder::new().file("w/a.txt", "a").file("w/.haft/ledger", "x").file("out", "x");
    symlink("../out", folder.path().join("w/link")).unwrap();
    symlink(".haft", folder.path().join("w/house")).unwrap();
    let stage = uploading(&folder, json!({"file": {"file": "${input.path}"}}));
    let stage = Stage { files: Some(folder.path().join("w")), ..stage };
    for (path, code, before) in [
        ("../out", Code::InputValue, true),
        ("/etc/passwd", Code::InputValue, true),
        (".haft/ledger", Code::SandboxViolation, true),
        (".HAFT/ledger", Code::SandboxViolation, true),
        ("link", Code::SandboxViolation, false),
        ("house/ledger", Code::SandboxViolation, false),
        ("gone", Code::ResourceNotFound, false),
        (".", Code::InputValue, false),
    ] {
        let input = json!({"path": path});
        assert_eq!(stage.preflight(input.clone()).is_err(), before, "{path}");
        let (found, _, submissions) = stage.run(input).fate();
        assert_eq!((found, submissions), (code, 0), "{path}");
    }
    assert_eq!(stage.backend.connections(), 0);
    let nowhere = Stage { files: None, ..stage };
    assert_eq!(nowhere.run(json!({"path": "a.txt"})).fate().0, Code::SetupRequired);
}

#[test]
fn caller_input_is_never_taken_for_file_reference() {
    let folder = Folder::new().file("a.txt", "inside");
    let input = json!({"order": {"file": "a.txt"}});
    let plain = Stage { files: Some(folder.path().to_owned()), ..Stage::writing(json!({})) };
    let templated = uploading(&folder, json!({"part": "${input.order}"}));
    for stage in [plain.haft(json!({"body": "multipart"})), templated] {
        let heard = sent(&stage, input.clone());
        assert!(heard.body.contains("{\"file\":\"a.txt\"}"), "{}", heard.body);
        assert!(!heard.body.contains("inside"), "{}", heard.body);
    }
}

#[test]
fn an_upload_has_a_size_that_it_cannot_pass() {
    let folder = Folder::new().file("big", "x".repeat(33 << 20)).file("large", "x".repeat(6 << 20));
    let stage = uploading(&folder, json!({"part": {"file": "${input.path}"}}));
    let failure = stage.run(json!({"path": "big"})).failure();
    assert_eq!(failure.stop.code, Code::InputValue);
    assert!(failure.stop.message.ends_with("and 33554432 can be sent"), "{}", failure.stop.message);
    assert!(sent(&stage, json!({"path": "large"})).body.len() > 6 << 20);
}
