//! Error code projections: compares every code in each vocabulary with a readable table.

use std::path::Path;

use haft_model::{Code, EffectState, Retry, Stop, ToolError};
use serde_json::json;

const HEAD: &str = "\
# code | class (Agent Tool) | code (AIP-14) | code (ARuntime) | may it be sent again
#      | ends as (before it ran / while it ran) | result as (before / while)
";

/// The table, as the code has it.
fn table() -> String {
    let mut text = HEAD.to_owned();
    for code in Code::ALL.iter().copied() {
        let retry = match code.retry() {
            Retry::Yes => "yes".to_owned(),
            Retry::No => "no".to_owned(),
            Retry::After(what) => format!("after {what}"),
        };
        let before = ToolError::new(Stop::new(code, "x"), EffectState::NotSubmitted);
        let stop = Stop::new(code, "x").because(json!({"phase": "run"}));
        let running = ToolError::new(stop, EffectState::Unknown);
        text += &format!(
            "\n{code} | {} | {} | {} | {retry}\n  {} / {} | {} / {}\n",
            code.class(),
            code.aip(),
            code.aruntime(),
            before.final_status(),
            running.final_status(),
            before.result_status(),
            running.result_status(),
        );
    }
    text
}

#[test]
fn every_code_is_called_what_the_reviewed_table_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/errors.txt");
    let table = table();
    if std::env::var_os("HAFT_BLESS").is_some() {
        std::fs::write(&file, &table).unwrap();
    }
    let reviewed = std::fs::read_to_string(&file).unwrap();
    assert_eq!(table, reviewed, "HAFT_BLESS=1 writes the table anew; read what changed");
}

#[test]
fn possible_effect_is_never_safe_to_retry() {
    for code in Code::ALL.iter().copied() {
        for effect in EffectState::ALL.iter().copied() {
            let error = ToolError::new(Stop::new(code, "x"), effect);
            assert!(!(error.retry.safe && effect.may_have_happened()), "{code} {effect}");
            assert_eq!(error.retry.safe, error.recoverability == "retry", "{code} {effect}");
        }
    }
}

#[test]
fn the_effect_decides_where_the_code_alone_cannot() {
    let error = |code, effect| ToolError::new(Stop::new(code, "x"), effect);
    let said = |code, effect| error(code, effect).recoverability;
    assert_eq!(said(Code::OutputInvalid, EffectState::None), "retry");
    assert_eq!(
        said(Code::OutputInvalid, EffectState::Committed),
        "do not retry: the effect took place"
    );
    assert_eq!(said(Code::DependencyUnavailable, EffectState::NotSubmitted), "retry");
    assert_eq!(
        said(Code::DependencyUnavailable, EffectState::Unknown),
        "after its status was asked"
    );
    assert_eq!(said(Code::CanceledCaller, EffectState::NotSubmitted), "retry");
    let late = error(Code::CanceledCaller, EffectState::Unknown);
    assert_eq!(late.aruntime_code, "x:canceled.unknown-commit");
    let landed = error(Code::EffectUndeclared, EffectState::Committed);
    assert_eq!(landed.aruntime_code, "partial-effect");
    let stopped = error(Code::EffectUndeclared, EffectState::NotSubmitted);
    assert_eq!(stopped.aruntime_code, "permission.denied");
    let reused = Stop::new(Code::Conflict, "x").because(json!({"key_reused": "inv_1"}));
    let reused = ToolError::new(reused, EffectState::NotSubmitted);
    assert_eq!(
        (reused.error_class.as_str(), reused.aip_code.as_str()),
        ("invalid_arguments", "input_invalid")
    );
}
