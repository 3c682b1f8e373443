//! Routing phase three tests: what the workspace and the region of a call allow.

use crate::route::stage::check;

#[test]
fn a_driver_with_a_denied_tag_is_out() {
    check(
        "",
        "aa http; policy_tags: [fast, beta]\n\
         bb cli; policy_tags: [fast]",
        "deny=beta",
        "bb: it is the only one left\n\
         - aa, policy, tags: the workspace forbids drivers tagged `beta`",
    );
}

#[test]
fn a_driver_needs_one_of_the_allowed_tags() {
    check(
        "",
        "aa http\n\
         bb http; policy_tags: [other]\n\
         cc cli; policy_tags: [other, vetted]",
        "allow=vetted allow=own",
        "cc: it is the only one left\n\
         - aa, policy, tags: it has none of the tags vetted, own\n\
         - bb, policy, tags: it has none of the tags vetted, own",
    );
}

#[test]
fn denying_a_tag_outweighs_allowing_another() {
    check(
        "",
        "aa http; policy_tags: [vetted, beta]",
        "allow=vetted deny=beta",
        "route.none: `aa` claims `shop.find@1` and cannot serve it: the workspace forbids drivers \
         tagged `beta`\n\
         help: mend the driver, or add another\n\
         cause: {\"region\":false}\n\
         - aa, policy, tags: the workspace forbids drivers tagged `beta`",
    );
}

#[test]
fn a_call_stays_in_its_region() {
    check(
        "",
        "aa http; region: [us, asia]\n\
         bb cli; region: [us, eu]",
        "region=eu",
        "bb: it is the only one left\n\
         - aa, policy, region: it serves us, asia, and the call must stay in eu",
    );
}

#[test]
fn one_of_the_regions_of_a_call_will_do() {
    check("", "aa http; region: [asia]", "region=eu region=asia", "aa: it is the only one left");
}

#[test]
fn the_region_of_the_workspace_holds_for_every_call() {
    check(
        "",
        "aa http; region: [us]\n\
         bb cli; region: [eu]",
        "stay=eu",
        "bb: it is the only one left\n\
         - aa, policy, region: it serves us, and the call must stay in eu",
    );
}

#[test]
fn driver_must_serve_both_workspace_and_call_region() {
    check(
        "",
        "aa http; region: [us]\n\
         bb http; region: [eu]\n\
         cc cli; region: [us, eu]",
        "stay=eu region=us",
        "cc: it is the only one left\n\
         - aa, policy, region: it serves us, and the call must stay in eu\n\
         - bb, policy, region: it serves eu, and the call must stay in us",
    );
}

#[test]
fn driver_without_region_is_global_and_serves_every_region() {
    check("", "aa http", "region=eu stay=us", "aa: it is the only one left");
}

#[test]
fn a_workspace_can_say_that_global_serves_no_region() {
    check(
        "",
        "aa http\n\
         bb cli; region: [global, eu]",
        "region=eu no-global",
        "bb: it is the only one left\n\
         - aa, policy, region: it serves global, and the call must stay in eu",
    );
}

#[test]
fn global_driver_needs_no_match_without_requested_region() {
    check("", "aa http", "no-global", "aa: it is the only one left");
}

#[test]
fn a_call_that_only_its_region_stops_says_so() {
    check(
        "",
        "aa http; region: [us]\n\
         bb cli; region: [asia]",
        "region=eu",
        "route.none: 2 drivers claim `shop.find@1` and none can serve it\n\
         help: each rejected driver says what stands in its way\n\
         cause: {\"region\":true}\n\
         - aa, policy, region: it serves us, and the call must stay in eu\n\
         - bb, policy, region: it serves asia, and the call must stay in eu",
    );
}
