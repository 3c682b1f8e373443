//! Tests of command lines: each input value is one argument, whatever it holds.

use haft_model::Code;
use serde_json::{Value, json};

use crate::cli::stage::Stage;

/// Prints each argument on a line of its own, in brackets.
const SHOW: &str = "for word in \"$@\"; do printf '[%s]\\n' \"$word\"; done";

fn shown(argv: &[&str], input: Value) -> Result<String, String> {
    let stage = Stage::reading("sh", argv).with("bin_args", json!(["-c", SHOW, "sh"]));
    if let Err(stop) = stage.preflight(input.clone()) {
        return Err(format!("{} {}: {}", stop.code, stop.field.unwrap_or_default(), stop.message));
    }
    Ok(stage.run(input).text())
}

#[test]
fn value_is_one_argument_never_read_by_a_shell() {
    let input = json!({
        "text": "a; rm -rf / && $(id) `id` 'b' \"c\"\n*", "n": 3, "on": true, "list": ["x y"],
        "from": "here",
    });
    let argv = [
        "log",
        "${input.text}",
        "--max=${input.n}",
        "${optional('--since', input.since)}",
        "${optional('--number', input.n)}",
        "${input.on | flag('--draft')}",
        "${flag('--off', input.off)}",
        "${input.list}",
        "${source}/${context.tenant}",
        "${input.none | default('')}",
    ];
    assert_eq!(
        shown(&argv, input),
        Ok("[log]\n[a; rm -rf / && $(id) `id` 'b' \"c\"\n*]\n[--max=3]\n[--number]\n[3]\n[--draft]\n\
            [[\"x y\"]]\n[here/t1]\n[]\n"
            .to_owned())
    );
}

#[test]
fn value_with_leading_dash_is_refused_unless_driver_allows() {
    let refused =
        Err("input.value /path: `input.path` begins with a dash, and would be taken for an option"
            .to_owned());
    let input = || json!({"path": "--upload-pack=evil"});
    assert_eq!(shown(&["show", "${input.path}"], input()), refused);
    assert_eq!(shown(&["${optional('--file', input.path)}"], input()), refused);
    assert_eq!(shown(&["${input.path}.txt"], input()), refused);
    let fine = |argv: &[&str]| shown(argv, input()).unwrap();
    assert_eq!(fine(&["--file=${input.path}"]), "[--file=--upload-pack=evil]\n");
    assert_eq!(fine(&["--", "${input.path}"]), "[--]\n[--upload-pack=evil]\n");
    assert_eq!(fine(&["${optional('--', input.path)}"]), "[--]\n[--upload-pack=evil]\n");
    let allowed = Stage::reading("echo", &["${input.path}"]).haft("dash_values", json!(true));
    assert_eq!(allowed.run(input()).text(), "--upload-pack=evil\n");
    // A value of the caller does not end the options.
    let sly = json!({"a": "--", "path": "-x"});
    assert!(shown(&["${input.a}", "${input.path}"], sly).is_err());
}

#[test]
fn value_no_command_line_can_carry_fails_preflight() {
    let stage = Stage::reading("echo", &["${input.text}"]);
    let codes = [json!("a\0b"), json!("x".repeat(200_000)), json!(null)].map(|text| {
        let stop = stage.preflight(json!({"text": text})).unwrap_err();
        (stop.code, stop.field)
    });
    assert_eq!(
        codes,
        [
            (Code::InputValue, Some("/text".to_owned())),
            (Code::InputValue, None),
            (Code::InputValue, None),
        ]
    );
}

#[test]
fn standard_input_is_what_its_template_says() {
    let stage = |template: &str| Stage::reading("cat", &[]).cli("stdin", json!(template));
    let input = || json!({"text": "one\ntwo", "list": [1, {"a": "b"}]});
    assert_eq!(stage("${input.text}").run(input()).text(), "one\ntwo");
    assert_eq!(stage("${input.list}").run(input()).text(), "[1,{\"a\":\"b\"}]");
    assert_eq!(Stage::reading("cat", &[]).run(input()).text(), "");
    // A program that does not read its standard input is not waited for.
    let unread = Stage::reading("true", &[]).cli("stdin", json!("${input.text}"));
    let large = json!({"text": "x".repeat(1_000_000)});
    assert_eq!(unread.run(large).text(), "");
}
