//! Routing phase two tests: what the machine, the backend and the login allow.

use crate::route::stage::check;

/// A lone driver that falls out, why for machines, and why for people.
#[track_caller]
fn out(driver: &str, why: &str, reason: &str) {
    check(
        "",
        &format!("aa {driver}\nzz cli"),
        "",
        &format!("zz: it is the only one left\n- aa, capability, {why}: {reason}"),
    );
}

/// A driver that stays in, and wins by its kind.
#[track_caller]
fn stays(driver: &str) {
    check(
        "",
        &format!("aa {driver}\nzz cli"),
        "",
        "aa: it ranks first\n- zz, rank, rank: another is of a kind that is cheaper to reach",
    );
}

#[test]
fn another_system_is_out() {
    out(
        "http; requires: { os: [darwin, windows] }",
        "machine",
        "it runs on darwin, windows, not on linux",
    );
}

#[test]
fn another_processor_is_out() {
    out("http; requires: { arch: [arm64] }", "machine", "it runs on arm64, not on x64");
}

#[test]
fn this_machine_is_in() {
    stays("http; requires: { os: [darwin, linux], arch: [x64] }");
}

#[test]
fn a_builtin_of_another_host_is_out() {
    let reason = "it is built into `elsewhere`, and this is `haft`";
    out("builtin; metadata: { builtin: { host_id: elsewhere } }", "host", reason);
}

#[test]
fn a_builtin_of_this_host_is_in() {
    stays("builtin; metadata: { builtin: { host_id: haft } }");
}

#[test]
fn a_host_matters_to_builtins_only() {
    stays("http; metadata: { builtin: { host_id: elsewhere } }");
}

#[test]
fn what_is_not_installed_is_out() {
    out("http; !not-installed", "install", "`shop` is not installed");
}

#[test]
fn a_wrong_version_is_out() {
    let reason = "`shop` is 1, and `2` is needed";
    out("http; !installed; !wrong-version", "version", reason);
}

#[test]
fn logged_out_driver_is_rejected() {
    out("http; !logged-out", "auth", "the caller is not logged in");
}

#[test]
fn a_login_that_ran_out_is_out() {
    out("http; !expired", "auth", "the login has run out");
}

#[test]
fn a_failed_health_check_is_out() {
    out("http; !sick", "health", "its health check failed lately: nobody answers");
}

#[test]
fn the_first_obstacle_is_the_one_that_is_named() {
    let all = "http; requires: { os: [darwin] }; !not-installed; !wrong-version; !expired; !sick";
    out(all, "machine", "it runs on darwin, not on linux");
    out("http; !sick; !expired; !wrong-version", "version", "`shop` is 1, and `2` is needed");
}

#[test]
fn driver_with_unknown_state_stays_candidate() {
    stays("http");
}

#[test]
fn a_driver_that_passed_everything_is_in() {
    stays("http; !installed; !right-version; !logged-in; !2026-01-01T00:00:00Z");
}

#[test]
fn missing_login_error_names_login_of_best_driver() {
    check(
        "",
        "aa cli; !logged-out\n\
         bb http; auth: { login: { url: \"https://shop.example/login\" }, state: { env: [SHOP_KEY] } }; !expired",
        "",
        "credential.missing: the login of `bb`, which serves `shop.find@1`, has run out\n\
         cause: {\"driver\":\"bb\",\"login\":{\"url\":\"https://shop.example/login\"},\"env\":[\"SHOP_KEY\"],\"state\":\"expired\"}\n\
         - aa, capability, auth: the caller is not logged in\n\
         - bb, capability, auth: the login has run out",
    );
}

#[test]
fn missing_login_with_other_obstacle_reports_no_route() {
    check(
        "",
        "aa http; !logged-out\n\
         bb cli; !sick",
        "",
        "route.none: 2 drivers claim `shop.find@1` and none can serve it\n\
         help: each rejected driver says what stands in its way\n\
         cause: {\"region\":false}\n\
         - aa, capability, auth: the caller is not logged in\n\
         - bb, capability, health: its health check failed lately: nobody answers",
    );
}

#[test]
fn missing_setup_error_names_setup_command() {
    check(
        "",
        "aa cli; !not-installed\nbb mcp; !wrong-version",
        "",
        "setup.required: `bb` cannot serve `shop.find@1` yet: `shop` is 1, and `2` is needed\n\
         help: run `haft setup shop`\n\
         - aa, capability, install: `shop` is not installed\n\
         - bb, capability, version: `shop` is 1, and `2` is needed",
    );
}

#[test]
fn missing_login_error_names_login_command() {
    check(
        "",
        "aa http; !logged-out; !by-login",
        "",
        "credential.missing: `aa` cannot serve `shop.find@1` yet: the caller is not logged in\n\
         help: run `haft login shop`\n\
         cause: {\"driver\":\"aa\",\"login\":null,\"env\":[],\"state\":\"logged_out\"}\n\
         - aa, capability, auth: the caller is not logged in",
    );
}

#[test]
fn open_circuit_breaker_rejects_driver_unless_pinned() {
    let reason = "it failed 5 times in a row and rests until 2026-01-01T00:00:30Z";
    out("http; !rests", "rest", reason);
    check("", "aa http; !rests", "pin=aa", "aa: the call insists on it");
}

#[test]
fn failed_health_check_is_reported_as_dependency_unavailable() {
    check(
        "",
        "aa http; !sick",
        "",
        "dependency.unavailable: driver `aa`: its health check failed lately: nobody answers\n\
         help: `haft doctor` looks again\n\
         - aa, capability, health: its health check failed lately: nobody answers",
    );
}
