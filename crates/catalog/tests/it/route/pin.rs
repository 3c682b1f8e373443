//! Routing phase four tests: a caller that pins a driver.

use crate::route::stage::check;

/// A pinned driver that falls out, beside one that would have served the call.
#[track_caller]
fn refused(driver: &str, call: &str, code: &str, rejection: &str) {
    let (_, reason) = rejection.split_once(": ").unwrap();
    let state = if driver.contains("!expired") { "expired" } else { "logged_out" };
    let login = match code {
        "credential.missing" => format!(
            "cause: {{\"driver\":\"aa\",\"login\":null,\"env\":[],\"state\":\"{state}\"}}\n"
        ),
        _ => String::new(),
    };
    let help = match driver.contains("!not-installed") {
        true => "run `haft setup shop`, or lift the pin",
        false => "lift the pin to let another driver serve the call",
    };
    check(
        "",
        &format!("aa {driver}\nzz cli; policy_tags: [vetted]"),
        &format!("pin=aa {call}"),
        &format!(
            "{code}: `aa` cannot serve `shop.find@1`: {reason}\n\
             help: {help}\n{login}\
             - aa, {rejection}\n\
             - zz, pin, pin: the call insists on another"
        ),
    );
}

#[test]
fn a_pinned_driver_serves_the_call_whatever_its_rank() {
    check(
        "default_implementation: aa",
        "aa builtin; > cost_override: { cost_units_per_call: 0 }\n\
         zz cli; > cost_override: { cost_units_per_call: 9 }",
        "pin=zz",
        "zz: the call insists on it\n\
         - aa, pin, pin: the call insists on another",
    );
}

#[test]
fn pinned_driver_outside_policy_fails_with_route_policy() {
    let rejection = "policy, tags: it has none of the tags vetted";
    refused("http", "allow=vetted", "route.policy", rejection);
    let rejection = "policy, tags: the workspace forbids drivers tagged `beta`";
    refused("http; policy_tags: [beta]", "deny=beta", "route.policy", rejection);
}

#[test]
fn pinned_driver_of_other_region_fails_with_route_region() {
    let rejection = "policy, region: it serves us, and the call must stay in eu";
    refused("http; region: [us]", "region=eu", "route.region", rejection);
}

#[test]
fn a_pinned_driver_without_a_login_misses_a_credential() {
    let rejection = "capability, auth: the caller is not logged in";
    refused("http; !logged-out", "", "credential.missing", rejection);
    let rejection = "capability, auth: the login has run out";
    refused("http; !expired", "", "credential.missing", rejection);
}

#[test]
fn pinned_driver_dropping_input_fails_with_input_unsupported() {
    let driver = "http; > schema_narrowing: { drop_inputs: [note] }";
    let rejection = "candidates, narrowing: the driver does not take `note`";
    refused(driver, "note=soon", "input.unsupported", rejection);
}

#[test]
fn pinned_driver_not_installed_fails_with_setup_required() {
    let rejection = "capability, install: `shop` is not installed";
    refused("http; !not-installed", "", "setup.required", rejection);
}

#[test]
fn a_pinned_driver_that_does_not_work_is_unavailable() {
    for (state, rejection) in [
        ("!sick", "capability, health: its health check failed lately: nobody answers"),
        ("requires: { os: [darwin] }", "capability, machine: it runs on darwin, not on linux"),
        (
            "> version: ^3",
            "candidates, binding: the driver serves `^3` of `shop.find`, and the contract is 1.0.0",
        ),
    ] {
        refused(&format!("http; {state}"), "", "route.pin_unavailable", rejection);
    }
}

#[test]
fn a_pinned_driver_that_does_not_exist_is_unavailable() {
    check(
        "",
        "aa http\n\
         bb cli; !sick",
        "pin=nobody",
        "route.pin_unavailable: `nobody` cannot serve `shop.find@1`: it does not claim this tool\n\
         help: lift the pin to let another driver serve the call\n\
         - bb, capability, health: its health check failed lately: nobody answers\n\
         - aa, pin, pin: the call insists on another",
    );
}
