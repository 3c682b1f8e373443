//! Tests of unsupported manifest fields: each is refused by name.

use haft_model::Code;
use serde_json::json;

use crate::cli::stage::Stage;

#[test]
fn what_cannot_be_run_is_refused_by_name() {
    let unsupported =
        |what: &str| format!("driver `demo` uses {what}, which this version cannot run");
    for (field, value, words) in [
        (
            "sandbox",
            json!({"tty": {"required": true}}),
            "driver `demo` needs a terminal, and a call has none".to_owned(),
        ),
        ("network", json!({"ingress": ["8080"]}), unsupported("`network.ingress`")),
        ("runner", json!("./runner.md"), unsupported("a `runner` in another file")),
        (
            "runner",
            json!({"engine": "sandbox", "image": "x"}),
            unsupported("a `runner` that is no process of this machine"),
        ),
        ("inputsFiles", json!({}), unsupported("`inputsFiles`")),
        ("code", json!({}), unsupported("`code`")),
    ] {
        let stop = Stage::reading("true", &[]).with(field, value).preflight(json!({})).unwrap_err();
        assert_eq!((stop.code, stop.message), (Code::SetupRequired, words));
    }
}

#[test]
fn unreadable_manifest_fails_every_call_with_setup_required() {
    let stop = Stage::reading("true", &[]).with("bin", json!(7)).preflight(json!({})).unwrap_err();
    assert_eq!(stop.code, Code::SetupRequired);
    assert_eq!(stop.help.as_deref(), Some("run `haft check`"));
}
