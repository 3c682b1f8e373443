//! `haft why` tests: which driver would serve a call, and why not the others.

use serde_json::json;

use crate::stage::{check, check_own, driver, json as answer, prices};

#[test]
fn a_missing_secret_and_an_unasked_change_are_warnings() {
    check(
        &prices("^1"),
        "check",
        r"
exit 0
checked 2 manifests: no errors, 2 warnings
! warning[D060]: there is no file `./.secrets/prices/SECRETS.md`
!   --> .drivers/prices/DRIVER.md:11:8
!    |
! 11 |   ref: ./.secrets/prices/SECRETS.md
!    |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
!    |
!    = help: list its secrets in any SECRETS.md of the workspace; one that none lists stays closed
!
! warning[T040]: the tool changes something and asks for no approval
!  --> .tools/price.lookup/TOOL.md:8:11
!   |
! 8 | approval: auto
!   |           ^^^^
!   |
!   = help: say `approval: on-mutate`, or leave it: rules and autonomy still decide
!
",
    );
}

#[test]
fn a_call_is_routed_to_the_driver() {
    check(
        &prices("^1"),
        "why price.lookup",
        r#"
exit 0
price.lookup@1  Look up a price
input     not given, so not checked
driver    prices: it is the only one left
limits    [time], one attempt
risk      1 (medium)
approval  auto
grant     tool:price.lookup
decision  not judged: the host's context does not fit: "shop" is a required property
"#,
    );
}

#[test]
fn machines_see_the_whole_explanation() {
    let line = "why price.lookup article=AB1234 --context {\"shop\":\"main\"} --json";
    let (exit, mut said) = answer(&prices("^1"), line);
    // Whether its driver can run here is no matter of this test, nor when it was judged.
    said.as_object_mut().unwrap().remove("unready");
    said["decision"].as_object_mut().unwrap().remove("decided_at");
    let expected = json!({
        "tool": "price.lookup@1",
        "version": "1.2.0",
        "driver": "prices",
        "route": {
            "driver": "prices",
            "driver_state": [],
            "reason": "it is the only one left",
            "rejected": [],
            "limits": {
                "timeout_ms": 2500
            }
        },
        "input": {
            "given": true,
            "fits": true,
            "value": {
                "article": "AB1234",
                "currency": "EUR"
            }
        },
        "blocked": null,
        "grant": "tool:price.lookup",
        "effects": {
            "mutates": [
                "external:allowance"
            ],
            "mutates_stated": true,
            "classes": [
                "external-communication"
            ],
            "risk": 1,
            "requires": {
                "network": [
                    "prices.example"
                ]
            },
            "approval": {
                "class": "auto"
            },
            "facts": {
                "read_only": "no",
                "destructive": "unknown",
                "open_world": "no",
                "concurrency_safe": "unstated"
            },
            "inferred": [
                {
                    "field": "is_destructive",
                    "value": "unknown",
                    "source": "nothing says that it can be undone; effective risk is 1"
                },
                {
                    "field": "class",
                    "value": "external-communication",
                    "source": "`metadata.haft.class` is not stated"
                }
            ]
        },
        "fingerprint": "[digest]",
        "decision": {
            "verdict": "ask",
            "deciding": 0,
            "opinions": [
                {
                    "layer": "autonomy",
                    "says": "ask",
                    "reason": "risk 1 is above autonomy 0",
                    "firmness": "default"
                }
            ],
            "needs": [
                {
                    "count": 1,
                    "not_the_caller": false
                }
            ],
            "suggested_updates": [
                {
                    "type": "remember"
                }
            ],
            "reason": "risk 1 is above autonomy 0"
        }
    });
    assert_eq!((exit, said), (0, expected));
}

#[test]
fn a_range_that_misses_the_contract_leaves_no_route() {
    let folder = prices("^2");
    check(
        &folder,
        "why price.lookup",
        r"
exit 1
price.lookup@1  Look up a price
input     not given, so not checked
driver    none (route.none): `prices` claims `price.lookup@1` and cannot serve it: the driver serves `^2` of `price.lookup`, and the contract is 1.2.0
          mend the driver, or add another
risk      1 (medium)
approval  auto
grant     tool:price.lookup
decision  not judged, because the call would not get that far

REJECTED  PHASE       WHY
prices    candidates  the driver serves `^2` of `price.lookup`, and the contract is 1.2.0
",
    );
    let (exit, said) = answer(&folder, "why price.lookup --json");
    assert_eq!(exit, 1);
    assert_eq!(
        said["route"],
        json!({
            "driver": null,
            "error": {
                "error_code": "route.none",
                "error_class": "capability_gap",
                "code": "no_route",
                "aruntime_code": "dependency.unavailable",
                "message": "`prices` claims `price.lookup@1` and cannot serve it: the driver serves `^2` of `price.lookup`, and the contract is 1.2.0",
                "field": null,
                "help": "mend the driver, or add another",
                "cause": {
                    "region": false,
                    "rejected": [
                        {
                            "driver": "prices",
                            "phase": "candidates",
                            "why": "binding",
                            "reason": "the driver serves `^2` of `price.lookup`, and the contract is 1.2.0"
                        }
                    ]
                }
            }
        })
    );
    check_own(
        &folder,
        "tools",
        r"
exit 0
TOOL          VERSION  RISK  STATE     DRIVERS  ABOUT
price.lookup  1.2.0    1     no route  prices (refused)  `prices` claims `price.lookup@1` and cannot serve it: the driver serves `^2` of `price.lookup`, and the contract is 1.2.0
",
    );
}

#[test]
fn a_pin_is_kept_to() {
    let folder =
        prices("^1").file(".drivers/other/DRIVER.md", driver("other", &[("price.lookup", "1")]));
    check(
        &folder,
        "why price.lookup --pin other",
        r#"
exit 0
price.lookup@1  Look up a price
input     not given, so not checked
driver    other: the call insists on it
limits    [time], one attempt
risk      1 (medium)
approval  auto
grant     tool:price.lookup
decision  not judged: the host's context does not fit: "shop" is a required property

REJECTED  PHASE  WHY
prices    pin    the call insists on another
"#,
    );
    check(
        &folder,
        "why price.lookup --pin nobody",
        r"
exit 1
price.lookup@1  Look up a price
input     not given, so not checked
driver    none (route.pin_unavailable): `nobody` cannot serve `price.lookup@1`: it does not claim this tool
          lift the pin to let another driver serve the call
risk      1 (medium)
approval  auto
grant     tool:price.lookup
decision  not judged, because the call would not get that far

REJECTED  PHASE  WHY
other     pin    the call insists on another
prices    pin    the call insists on another
",
    );
}

#[test]
fn a_region_is_kept_to() {
    let folder =
        prices("^1").file(".drivers/other/DRIVER.md", driver("other", &[("price.lookup", "1")]));
    check(
        &folder,
        "why price.lookup --region us",
        r#"
exit 0
price.lookup@1  Look up a price
input     not given, so not checked
driver    other: it is the only one left
limits    [time], one attempt
risk      1 (medium)
approval  auto
grant     tool:price.lookup
decision  not judged: the host's context does not fit: "shop" is a required property

REJECTED  PHASE   WHY
prices    policy  it serves eu, and the call must stay in us
"#,
    );
    check(
        &folder,
        "why price.lookup --region us --pin prices",
        r"
exit 1
price.lookup@1  Look up a price
input     not given, so not checked
driver    none (route.region): `prices` cannot serve `price.lookup@1`: it serves eu, and the call must stay in us
          lift the pin to let another driver serve the call
risk      1 (medium)
approval  auto
grant     tool:price.lookup
decision  not judged, because the call would not get that far

REJECTED  PHASE   WHY
prices    policy  it serves eu, and the call must stay in us
other     pin     the call insists on another
",
    );
}

#[test]
fn the_regions_and_tags_of_the_workspace_hold() {
    let settings = "[workspace]\nregion = [\"us\"]\n";
    let folder = prices("^1").file("haft.toml", settings);
    let (exit, said) = answer(&folder, "why price.lookup --json");
    assert_eq!((exit, &said["route"]["error"]["error_code"]), (1, &json!("route.none")));
    let settings = "[workspace]\npolicy_tags = [\"vetted\"]\n";
    let folder = folder.file("haft.toml", settings);
    let (exit, said) = answer(&folder, "why price.lookup --pin prices --json");
    assert_eq!((exit, &said["route"]["error"]["error_code"]), (3, &json!("route.policy")));
}

#[test]
fn an_unknown_tool_comes_with_the_nearest_one() {
    let folder = prices("^1");
    check(
        &folder,
        "why price.lokup",
        r"
exit 4
! tool.unknown: there is no tool `price.lokup`
! help: did you mean `price.lookup`?
",
    );
    check(
        &folder,
        "why weather.tomorrow --json",
        r#"
exit 4
{
  "ok": false,
  "error": {
    "error_code": "tool.unknown",
    "error_class": "unknown_tool",
    "code": "not_found",
    "aruntime_code": "input.invalid",
    "message": "there is no tool `weather.tomorrow`",
    "field": null,
    "help": "`haft tools` lists those that there are",
    "cause": {}
  }
}
"#,
    );
}

#[test]
fn a_tool_is_found_by_alias_id_and_major() {
    let folder = prices("^1");
    for name in ["price.lookup", "price.lookup@1", "quote"] {
        let (exit, said) = answer(&folder, &format!("why {name} --json"));
        assert_eq!((exit, &said["tool"]), (0, &json!("price.lookup@1")), "{name}");
    }
    check(
        &folder,
        "why price.lookup@2",
        r"
exit 4
! tool.unknown: there is no tool `price.lookup@2`
! help: did you mean `price.lookup`?
",
    );
}
