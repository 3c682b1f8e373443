//! Routing determinism tests: the order in which drivers are read changes nothing.

use crate::route::stage::route;

/// A tool, four drivers and a call for each way of deciding.
const CASES: [(&str, [&str; 4], &str); 8] = [
    ("", ["aa http", "bb http", "cc http", "dd http"], ""),
    ("default_implementation: cc", ["aa builtin", "bb sdk", "cc cli", "dd mcp"], ""),
    ("", ["aa cli", "bb http; !sick", "cc http; region: [us]", "dd mcp"], "region=eu"),
    (
        "",
        [
            "aa http; !2026-01-01T00:00:00Z",
            "bb http; !2026-01-02T00:00:00Z",
            "cc http; !2026-01-02T00:00:00Z",
            "dd http",
        ],
        "",
    ),
    (
        "",
        [
            "aa http; cost_override: { cost_units_per_call: 3, currency: EUR }",
            "bb cli; cost_override: { cost_units_per_call: 1, currency: USD }",
            "cc mcp; cost_override: { cost_units_per_call: 2, currency: EUR }",
            "dd builtin",
        ],
        "",
    ),
    ("", ["aa http; !expired", "bb cli; !logged-out", "cc http; !expired", "dd sdk; !expired"], ""),
    ("", ["aa http; !sick", "bb cli; !sick", "cc mcp; > version: ^4", "dd sdk; !expired"], ""),
    ("", ["aa http", "bb cli; !sick", "cc mcp", "dd sdk; !expired"], "pin=cc"),
];

#[test]
fn the_order_of_the_drivers_changes_nothing() {
    for (tool, drivers, call) in CASES {
        let answer = route(tool, &drivers, call);
        let orders = orders(&drivers);
        assert_eq!(orders.len(), 24);
        for order in orders {
            assert_eq!(route(tool, &order, call), answer, "{order:?}");
        }
    }
}

/// Every order of some items.
fn orders<'a>(items: &[&'a str]) -> Vec<Vec<&'a str>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in items.iter().enumerate() {
        let rest: Vec<&str> = [&items[..at], &items[at + 1..]].concat();
        all.extend(orders(&rest).into_iter().map(|order| [&[*first], order.as_slice()].concat()));
    }
    all
}
