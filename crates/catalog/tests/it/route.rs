//! Routing tests as a table: drivers and a call in, the driver or the refusal with every reason
//! out.

mod capability;
mod claims;
mod order;
mod pin;
mod policy;
mod rank;
mod stage;

use haft_model::{Phase, RejectedDriver, RejectionReason};
use serde_json::json;
use stage::check;

#[test]
fn tool_without_claiming_driver_has_no_route() {
    check(
        "",
        "",
        "",
        "route.none: no driver claims `shop.find@1`\n\
         help: write a DRIVER.md whose `implements` names `shop.find`\n\
         cause: {\"region\":false}",
    );
}

#[test]
fn no_route_error_names_rejections_of_every_phase() {
    check(
        "driver_constraints: { forbid: [mcp] }",
        "aa mcp\n\
         bb http; !logged-out\n\
         cc cli; policy_tags: [beta]",
        "deny=beta",
        "route.none: 3 drivers claim `shop.find@1` and none can serve it\n\
         help: each rejected driver says what stands in its way\n\
         cause: {\"region\":false}\n\
         - aa, candidates, kind: the contract forbids drivers of kind mcp\n\
         - bb, capability, auth: the caller is not logged in\n\
         - cc, policy, tags: the workspace forbids drivers tagged `beta`",
    );
}

#[test]
fn routing_picks_survivor_and_names_phase_of_each_rejection() {
    check(
        "driver_constraints: { forbid: [mcp] }",
        "aa mcp\n\
         bb http; !sick\n\
         cc http; region: [us]\n\
         dd cli\n\
         ee sdk",
        "region=eu",
        "ee: it ranks first\n\
         - aa, candidates, kind: the contract forbids drivers of kind mcp\n\
         - bb, capability, health: its health check failed lately: nobody answers\n\
         - cc, policy, region: it serves us, and the call must stay in eu\n\
         - dd, rank, rank: another is of a kind that is cheaper to reach",
    );
}

#[test]
fn rejection_reasons_keep_their_names_on_the_wire() {
    let names = "binding kind narrowing machine host tried install version auth health rest tags \
                 region pin rank";
    let names: Vec<&str> = names.split(' ').collect();
    assert_eq!(RejectionReason::ALL.len(), names.len());
    for (&why, name) in RejectionReason::ALL.iter().zip(names) {
        let phase = Phase::Capability;
        let rejected = RejectedDriver { driver: "aa".into(), phase, why, reason: "no".into() };
        let wire = json!({ "driver": "aa", "phase": "capability", "why": name, "reason": "no" });
        assert_eq!((json!(rejected), why.to_string()), (wire, name.to_owned()));
    }
}
