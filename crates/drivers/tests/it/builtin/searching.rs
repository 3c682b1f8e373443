//! Tests of `text.search`: matching lines, in order and within limits.

use haft_driver::Cancel;
use haft_model::{Code, EffectState};
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::builtin::stage::Stage;

fn search(stage: &Stage, path: &str, pattern: &str) -> Value {
    let (value, effect) =
        stage.run("text.search", json!({"path": path, "pattern": pattern})).value();
    assert_eq!(effect, EffectState::None);
    value
}

#[test]
fn lines_are_found_in_text_files_and_nowhere_else() {
    let folder = Folder::new()
        .file("b/two.txt", "no\r\nfn main\r\n")
        .file("a.txt", "fn one\n\nfn two")
        .file("binary", b"fn \0")
        .file("latin", b"fn \xe9")
        .file(".git/config", "fn")
        .file("b/.git/config", "fn")
        .file(".haft/x", "fn");
    let stage = Stage::of(folder);
    let matches = json!([
        {"path": "a.txt", "line": 1, "text": "fn one"},
        {"path": "a.txt", "line": 3, "text": "fn two"},
        {"path": "b/two.txt", "line": 2, "text": "fn main"},
        {"path": "latin", "line": 1, "text": "fn \u{fffd}"},
    ]);
    let expected = json!({"pattern": "^fn", "matches": matches, "files": 3, "more": false});
    assert_eq!(search(&stage, ".", "^fn"), expected);
    let one = json!({"pattern": "two$", "files": 1, "more": false,
                     "matches": [{"path": "a.txt", "line": 3, "text": "fn two"}]});
    assert_eq!(search(&stage, "./a.txt", "two$"), one);
}

#[test]
fn matches_and_lines_are_bounded() {
    let long = "é".repeat(600);
    let folder = Folder::new().file("a", "x\n".repeat(501)).file("b", "x").file("long", &long);
    let stage = Stage::of(folder);
    let value = search(&stage, ".", "x");
    assert_eq!(value["matches"].as_array().unwrap().len(), 500);
    assert_eq!(value["more"], json!(true));
    let exact = Stage::of(Folder::new().file("a", "x\n".repeat(500)).file("b", "y"));
    let value = search(&exact, ".", "x");
    assert_eq!((&value["files"], &value["more"]), (&json!(2), &json!(false)));
    let text = search(&stage, "long", "é")["matches"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(text, "é".repeat(500));
}

#[test]
fn huge_line_counts_as_one_match_at_most() {
    let stage = Stage::of(Folder::new().file("a", format!("{}\nx", "x".repeat(3 << 20))));
    let value = search(&stage, ".", "x");
    let lines: Vec<_> =
        value["matches"].as_array().unwrap().iter().map(|found| found["line"].clone()).collect();
    assert_eq!(lines, [json!(1), json!(2)]);
}

#[test]
fn too_deep_folders_do_not_end_the_search() {
    let deep = format!("a/{}x.txt", "d/".repeat(70));
    let stage = Stage::of(Folder::new().file(&deep, "x").file("b.txt", "x"));
    let expected = json!({"pattern": "x", "files": 1, "more": true,
                          "matches": [{"path": "b.txt", "line": 1, "text": "x"}]});
    assert_eq!(search(&stage, ".", "x"), expected);
}

#[test]
fn a_bad_pattern_is_refused_before_anything_is_read() {
    let stage = Stage::new();
    let stop = stage.preflight("text.search", json!({"path": ".", "pattern": "a("})).unwrap_err();
    assert_eq!(
        (stop.code, stop.message.as_str(), stop.field.as_deref()),
        (Code::InputValue, "the pattern does not compile: unclosed group", Some("/pattern"))
    );
}

#[test]
fn a_long_search_says_how_far_it_is() {
    let stage = Stage::new();
    for number in 0..450 {
        std::fs::write(stage.folder.path().join(format!("{number}")), "12345").unwrap();
    }
    let ended = stage.run("text.search", json!({"path": ".", "pattern": "x"}));
    let last = ended.progress.last().unwrap();
    assert_eq!((last.step_index, last.bytes_read), (Some(400), Some(2000)));
    assert_eq!(last.message.as_deref(), Some("400 files searched"));
    assert_eq!(ended.value().0["files"], json!(450));
}

#[test]
fn cancelled_or_timed_out_search_ends() {
    let stage = Stage::of(Folder::new().file("a", "x"));
    let cancel = Cancel::new();
    cancel.cancel();
    let cases = [
        (cancel, 30, Code::CanceledCaller, "it was called off"),
        (Cancel::new(), 0, Code::TimeoutBeforeSubmit, "time ran out"),
    ];
    for (cancel, seconds, code, message) in cases {
        let patience = std::time::Duration::from_secs(seconds);
        let around = crate::builtin::stage::Around { patience, cancel, on_submit: &mut |_| Ok(()) };
        let input = json!({"path": ".", "pattern": "x"});
        let ended = stage.run_with("text.search", input, around).refusal();
        assert_eq!(ended, (code, message.to_owned(), EffectState::NotSubmitted));
    }
}
