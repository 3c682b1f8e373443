//! Routing phase five tests: the contract's choice, then cost, kind, health and name.

use crate::route::stage::check;

/// Two drivers of which the second wins although its name comes later.
#[track_caller]
fn second_wins(first: &str, second: &str, why: &str) {
    check(
        "",
        &format!("aa {first}\nbb {second}"),
        "",
        &format!("bb: it ranks first\n- aa, rank, rank: {why}"),
    );
}

#[test]
fn the_contract_prefers_its_default() {
    check(
        "default_implementation: cc",
        "aa builtin; > cost_override: { cost_units_per_call: 0 }\n\
         bb http\n\
         cc cli",
        "",
        "cc: the contract prefers it\n\
         - aa, rank, rank: the contract prefers another\n\
         - bb, rank, rank: the contract prefers another",
    );
}

#[test]
fn a_default_that_fell_out_is_no_longer_preferred() {
    check(
        "default_implementation: cc",
        "aa http\n\
         bb cli\n\
         cc builtin; !sick",
        "",
        "aa: it ranks first\n\
         - cc, capability, health: its health check failed lately: nobody answers\n\
         - bb, rank, rank: another is of a kind that is cheaper to reach",
    );
}

#[test]
fn fewer_units_outweigh_the_kind() {
    second_wins(
        "builtin; > cost_override: { cost_units_per_call: 2 }",
        "cli; > cost_override: { cost_units_per_call: 0.5 }",
        "another costs less",
    );
}

#[test]
fn stated_units_outweigh_unstated_ones() {
    let priced = "cli; cost_override: { cost_units_per_call: 7 }";
    second_wins("builtin", priced, "another costs less");
}

#[test]
fn cost_units_of_entry_override_those_of_driver() {
    second_wins(
        "http; cost_override: { cost_units_per_call: 1 }; > cost_override: { cost_units_per_call: 5 }",
        "http; cost_override: { cost_units_per_call: 3 }",
        "another costs less",
    );
}

#[test]
fn units_of_one_currency_compare() {
    second_wins(
        "http; cost_override: { cost_units_per_call: 3, currency: EUR }",
        "cli; cost_override: { cost_units_per_call: 1, currency: EUR }",
        "another costs less",
    );
}

#[test]
fn units_of_different_currencies_do_not_compare() {
    second_wins(
        "cli; cost_override: { cost_units_per_call: 1, currency: EUR }",
        "http; cost_override: { cost_units_per_call: 3, currency: USD }",
        "another is of a kind that is cheaper to reach",
    );
}

#[test]
fn cost_class_decides_rank_without_cost_units() {
    second_wins(
        "http; cost_override: { cost_class: expensive }",
        "cli; cost_override: { cost_class: metered }",
        "another costs less",
    );
}

#[test]
fn driver_without_cost_inherits_cost_of_contract() {
    check(
        "cost_class: expensive",
        "aa http\n\
         bb cli; > cost_override: { cost_class: trivial }",
        "",
        "bb: it ranks first\n- aa, rank, rank: another costs less",
    );
}

#[test]
fn kinds_rank_by_how_cheap_they_are_to_reach() {
    check(
        "",
        "aa cli\n\
         bb mcp\n\
         cc http\n\
         dd sdk\n\
         ee builtin",
        "",
        "ee: it ranks first\n\
         - aa, rank, rank: another is of a kind that is cheaper to reach\n\
         - bb, rank, rank: another is of a kind that is cheaper to reach\n\
         - cc, rank, rank: another is of a kind that is cheaper to reach\n\
         - dd, rank, rank: another is of a kind that is cheaper to reach",
    );
    second_wins("cli", "mcp", "another is of a kind that is cheaper to reach");
    second_wins("mcp", "http", "another is of a kind that is cheaper to reach");
    second_wins("http", "sdk", "another is of a kind that is cheaper to reach");
}

#[test]
fn the_driver_that_was_seen_to_work_last_wins() {
    second_wins(
        "http; !2026-01-01T10:00:00Z",
        "http; !2026-01-01T10:00:01Z",
        "another was seen to work more recently",
    );
}

#[test]
fn recently_healthy_driver_outranks_one_never_probed() {
    let seen = "http; !2020-01-01T00:00:00Z";
    second_wins("http", seen, "another was seen to work more recently");
}

#[test]
fn the_kind_outweighs_health() {
    let kind = "another is of a kind that is cheaper to reach";
    second_wins("cli; !2026-01-01T10:00:00Z", "http", kind);
}

#[test]
fn the_name_decides_last() {
    check(
        "",
        "shop-b http\n\
         shop-a http\n\
         shop-c http",
        "",
        "shop-a: it ranks first\n\
         - shop-b, rank, rank: another comes first by name\n\
         - shop-c, rank, rank: another comes first by name",
    );
}
