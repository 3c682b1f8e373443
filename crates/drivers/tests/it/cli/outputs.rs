//! Tests of program output: how it becomes the value of a call.

use haft_model::{Code, Content, EffectState, Media};
use serde_json::{Value, json};

use crate::cli::stage::Stage;

fn printing(format: &str, text: &str) -> Stage {
    Stage::reading("printf", &["%b", text]).with("output", json!({"default_format": format}))
}

#[test]
fn text_json_and_binary_output_map_to_result_parts() {
    let value = |stage: Stage| stage.run(json!({})).output().structured;
    assert_eq!(value(printing("text", "a\\nb\\n")), Some(json!({"text": "a\nb\n"})));
    assert_eq!(value(printing("json", "{\"a\": [1, null]}")), Some(json!({"a": [1, null]})));
    let exact = Some(json!({"id": 1_234_567_890_123_456_789_u64}));
    assert_eq!(value(printing("json", "{\"id\": 1234567890123456789}")), exact);
    let digits = Some(json!({"text": "0.10000000000000000001"}));
    assert_eq!(value(printing("text", "0.10000000000000000001")), digits);
    assert_eq!(value(printing("json", "\\n")), None);
    let rows = printing("json", "[1]").haft("wrap", json!("rows"));
    assert_eq!(value(rows), Some(json!({"rows": [1]})));
    let bytes = printing("binary", "\\0377\\0000A").run(json!({})).output();
    let media = Media {
        mime_type: "application/octet-stream".to_owned(),
        data: "/wBB".to_owned(),
        name: None,
        block: None,
    };
    assert_eq!((bytes.structured, bytes.content), (None, vec![Content::File(media)]));
}

#[test]
fn malformed_output_after_exit_zero_is_output_invalid() {
    let told = |stage: Stage| {
        let failure = stage.run(json!({})).failure();
        (failure.stop.code, failure.effect, failure.stop.message)
    };
    let invalid = |words: &str| (Code::OutputInvalid, EffectState::None, words.to_owned());
    assert_eq!(
        told(printing("json", "{\"a\":")),
        invalid("`printf` ended well, and its output is not JSON")
    );
    assert_eq!(
        told(printing("text", "caf\\0351")),
        invalid("`printf` ended well, and its output is not UTF-8")
    );
    for text in ["{\"a\":NaN}", "{\"a\":\"\\0377\"}", &"[".repeat(100_000)] {
        let expected = invalid("`printf` ended well, and its output is not JSON");
        assert_eq!(told(printing("json", text)), expected);
    }
    let written = Stage::writing("printf", &["no json"]);
    let written = written.with("output", json!({"default_format": "json"}));
    assert_eq!(written.run(json!({})).fate(), (Code::OutputInvalid, EffectState::Committed, 1));
}

#[test]
fn yaml_output_needs_an_injected_parser() {
    let stage = printing("yaml", "a: 1");
    let stop = stage.preflight(json!({})).unwrap_err();
    assert_eq!(
        (stop.code, stop.message.as_str()),
        (Code::SetupRequired, "driver `demo` uses output in YAML, which this version cannot run")
    );
    let driver = stage.driver().reading_yaml(|text| Ok(json!({"read": text})));
    let ended = crate::cli::stage::alone(stage.call(&driver, json!({}), &Default::default()));
    assert_eq!(ended.output().structured, Some(json!({"read": "a: 1"})));
}

#[test]
fn json_flag_goes_to_json_entries_before_double_dash() {
    let args = |argv: &[&str], format: Option<&str>| -> Value {
        let show =
            "printf '['; for word in \"$@\"; do printf '\"%s\",' \"$word\"; done; printf '0]'";
        let output = json!({"json_flag": "--format", "json_flag_args": ["json"]});
        let stage = Stage::reading("sh", argv)
            .with("bin_args", json!(["-c", show, "sh"]))
            .with("output", output);
        let stage = match format {
            Some(format) => stage.cli("output_format", json!(format)),
            None => stage,
        };
        let value = stage.run(json!({"path": "-p"})).output().structured.unwrap();
        match value["text"].as_str() {
            Some(text) => serde_json::from_str(text).unwrap(),
            None => value,
        }
    };
    assert_eq!(args(&["list"], None), json!(["list", 0]));
    assert_eq!(args(&["list"], Some("json")), json!(["list", "--format", "json", 0]));
    assert_eq!(
        args(&["list", "--", "${input.path}"], Some("json")),
        json!(["list", "--format", "json", "--", "-p", 0])
    );
}

#[test]
fn a_driver_says_where_its_program_prints() {
    let said = |stream: &str| {
        let stage = Stage::script("echo out; echo err >&2");
        stage.with("output", json!({"stream": stream})).run(json!({})).text()
    };
    assert_eq!((said("stdout"), said("stderr")), ("out\n".to_owned(), "err\n".to_owned()));
    let mut lines: Vec<_> = said("mixed").lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["err", "out"]);
}

#[test]
fn output_flood_ends_read_early_but_write_finishes() {
    let flood =
        "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done";
    let failure = Stage::script(flood).run(json!({})).failure();
    assert_eq!(
        (failure.stop.code, failure.effect, failure.stop.message.as_str()),
        (Code::ResultTooLarge, EffectState::None, "`sh` printed more than 1048576 bytes")
    );
    let much = "head -c 3000000 /dev/zero; echo done > out/done";
    let stage = Stage::writing_script(much);
    assert_eq!(stage.run(json!({})).fate(), (Code::ResultTooLarge, EffectState::Committed, 1));
    assert_eq!(stage.folder.read("out/done"), "done\n");
}
