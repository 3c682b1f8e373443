//! Tests of the error mapping: every error code with its numbers on each wire.

use std::collections::BTreeMap;

use super::*;

#[test]
fn every_error_code_has_its_numbers() {
    let mut found = BTreeMap::<_, Vec<&str>>::new();
    for code in Code::ALL.iter().copied() {
        let situation = code.situation();
        let mcp = mcp_error(situation).map_or_else(|| "result".to_owned(), |it| it.0.to_string());
        let statuses = (call_status(situation).as_u16(), refusal_status(code).as_u16());
        found.entry((mcp, statuses.0, statuses.1)).or_default().push(code.name());
    }
    // The JSON-RPC error, the status of a call and the status of a refusal without one.
    let expected = [
        (("-32602", 200, 404), vec!["tool.unknown"]),
        (
            ("result", 200, 400),
            vec![
                "tool.schema_not_loaded",
                "input.schema",
                "input.value",
                "input.number_not_exact",
                "input.context",
                "input.unsupported",
            ],
        ),
        (
            ("result", 200, 403),
            vec![
                "tool.blocked",
                "route.policy",
                "hook.blocked",
                "permission.denied",
                "policy.blocked",
                "approval.required",
                "approval.rejected",
                "sandbox.violation",
                "effect.undeclared",
                "result.redacted",
            ],
        ),
        (("result", 200, 404), vec!["resource.not_found"]),
        (
            ("result", 200, 409),
            vec![
                "input.mutation",
                "route.none",
                "route.pin_unavailable",
                "route.region",
                "setup.required",
                "credential.missing",
                "hook.failed",
                "hook.post_failed",
                "approval.expired",
                "rate.limited",
                "timeout.before_submit",
                "timeout.unknown_commit",
                "execution.failed",
                "conflict",
                "effect.partial",
                "compensation.failed",
                "output.invalid",
                "result.too_large",
                "canceled.caller",
                "canceled.sibling",
                "canceled.discarded",
            ],
        ),
        (("result", 200, 500), vec!["internal"]),
        (("result", 200, 503), vec!["dependency.unavailable"]),
        (("result", 503, 503), vec!["store.unavailable"]),
    ];
    let expected =
        expected.map(|((mcp, call, refusal), codes)| ((mcp.to_owned(), call, refusal), codes));
    assert_eq!(found, BTreeMap::from(expected));
}

#[test]
fn waiting_call_is_accepted_and_has_a_result() {
    let waiting = Situation::Waiting;
    assert_eq!((call_status(waiting), mcp_error(waiting)), (StatusCode::ACCEPTED, None));
}
