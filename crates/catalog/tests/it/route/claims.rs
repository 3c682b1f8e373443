//! Routing phase one tests: which drivers are candidates.

use crate::route::stage::check;

#[test]
fn a_driver_of_another_version_is_no_candidate() {
    check(
        "",
        "aa http; > version: ^2\n\
         bb cli",
        "",
        "bb: it is the only one left\n\
         - aa, candidates, binding: the driver serves `^2` of `shop.find`, and the contract is 1.0.0",
    );
}

#[test]
fn a_driver_whose_claim_is_unsound_is_no_candidate() {
    check(
        "",
        "aa http; > schema_narrowing: { drop_inputs: [item] }",
        "",
        "route.none: `aa` claims `shop.find@1` and cannot serve it: `item` is required by \
         `shop.find` and cannot be dropped\n\
         help: mend the driver, or add another\n\
         cause: {\"region\":false}\n\
         - aa, candidates, binding: `item` is required by `shop.find` and cannot be dropped",
    );
}

#[test]
fn a_forbidden_kind_is_no_candidate() {
    check(
        "driver_constraints: { forbid: [builtin, http] }",
        "aa builtin\n\
         bb http\n\
         cc cli",
        "",
        "cc: it is the only one left\n\
         - aa, candidates, kind: the contract forbids drivers of kind builtin\n\
         - bb, candidates, kind: the contract forbids drivers of kind http",
    );
}

#[test]
fn only_kinds_that_are_required_are_candidates() {
    check(
        "driver_constraints: { require_kind: [mcp, cli] }",
        "aa http\n\
         bb cli",
        "",
        "bb: it is the only one left\n\
         - aa, candidates, kind: the contract wants drivers of kind mcp or cli",
    );
}

#[test]
fn forbidding_a_kind_outweighs_requiring_it() {
    check(
        "driver_constraints: { forbid: [cli], require_kind: [cli] }",
        "aa cli",
        "",
        "route.none: `aa` claims `shop.find@1` and cannot serve it: the contract forbids drivers of \
         kind cli\n\
         help: mend the driver, or add another\n\
         cause: {\"region\":false}\n\
         - aa, candidates, kind: the contract forbids drivers of kind cli",
    );
}

#[test]
fn driver_dropping_input_serves_calls_without_that_input() {
    check(
        "",
        "aa builtin; > schema_narrowing: { drop_inputs: [note] }\n\
         bb cli",
        "",
        "aa: it ranks first\n\
         - bb, rank, rank: another is of a kind that is cheaper to reach",
    );
}

#[test]
fn driver_dropping_input_is_rejected_for_calls_with_it() {
    check(
        "",
        "aa builtin; > schema_narrowing: { drop_inputs: [note] }\n\
         bb cli",
        "note=soon",
        "bb: it is the only one left\n\
         - aa, candidates, narrowing: the driver does not take `note`",
    );
}

#[test]
fn an_input_that_every_driver_drops_is_unsupported() {
    check(
        "",
        "aa http; > schema_narrowing: { drop_inputs: [note] }\n\
         bb cli; > schema_narrowing: { drop_inputs: [note] }",
        "note=soon",
        "input.unsupported: no driver of `shop.find@1` takes it all: the driver does not take `note`\n\
         field: /note\n\
         help: leave the input out\n\
         - aa, candidates, narrowing: the driver does not take `note`\n\
         - bb, candidates, narrowing: the driver does not take `note`",
    );
}

#[test]
fn input_dropped_by_one_driver_does_not_reject_others() {
    check(
        "",
        "aa http; > schema_narrowing: { drop_inputs: [note] }\n\
         bb cli; !not-installed",
        "note=soon",
        "route.none: 2 drivers claim `shop.find@1` and none can serve it\n\
         help: each rejected driver says what stands in its way\n\
         cause: {\"region\":false}\n\
         - aa, candidates, narrowing: the driver does not take `note`\n\
         - bb, capability, install: `shop` is not installed",
    );
}
