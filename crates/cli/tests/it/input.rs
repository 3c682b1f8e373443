//! Input validation tests: `haft why` with inputs that fit the contract, and with others.

use serde_json::json;

use crate::stage::{check, json as answer, prices};

const IN_SHOP: &str = "--context {\"shop\":\"main\"}";

#[test]
fn an_input_that_fits_is_shown_with_its_defaults() {
    let (exit, said) =
        answer(&prices("^1"), &format!("why quote article=AB1234 count=3 {IN_SHOP} --json"));
    assert_eq!(exit, 0);
    let filled = json!({ "article": "AB1234", "count": 3, "currency": "EUR" });
    assert_eq!(said["input"], json!({ "given": true, "fits": true, "value": filled }));
}

#[test]
fn why_names_location_rule_and_value_of_violation() {
    let folder = prices("^1");
    check(
        &folder,
        &format!("why price.lookup article=AB1234 count=99 {IN_SHOP}"),
        r"
exit 4
price.lookup@1  Look up a price
input     the input does not fit at `/count`: 99 is greater than the maximum of 50
driver    prices: it is the only one left
limits    [time], one attempt
risk      1 (medium)
approval  auto
grant     tool:price.lookup
decision  not judged, because the call would not get that far
",
    );
    let (exit, said) =
        answer(&folder, &format!("why price.lookup article=AB1234 count=99 {IN_SHOP} --json"));
    assert_eq!(exit, 4);
    assert_eq!(
        said["input"],
        json!({
            "given": true,
            "fits": false,
            "error": {
                "error_code": "input.schema",
                "error_class": "schema_validation_failed",
                "code": "input_invalid",
                "aruntime_code": "input.invalid",
                "message": "the input does not fit at `/count`: 99 is greater than the maximum of 50",
                "field": "/count",
                "help": null,
                "cause": {
                    "violations": [
                        {
                            "pointer": "/count",
                            "rule": "maximum",
                            "message": "99 is greater than the maximum of 50",
                            "value": 99
                        }
                    ]
                }
            }
        })
    );
}

#[test]
fn every_misfit_is_counted() {
    let line = format!("why price.lookup currency=USD count=many colour=red {IN_SHOP} --json");
    let (exit, said) = answer(&prices("^1"), &line);
    let error = &said["input"]["error"];
    assert_eq!((exit, &error["error_code"]), (4, &json!("input.schema")));
    let places: Vec<_> = error["cause"]["violations"].as_array().unwrap().iter().collect();
    assert_eq!(places.len(), 4, "{places:?}");
}

#[test]
fn a_field_of_the_host_is_refused() {
    check(
        &prices("^1"),
        &format!("why price.lookup article=AB1234 customer=c7 {IN_SHOP}"),
        r"
exit 4
price.lookup@1  Look up a price
input     `customer` is filled in by the host, never by a caller
          leave it out
driver    prices: it is the only one left
limits    [time], one attempt
risk      1 (medium)
approval  auto
grant     tool:price.lookup
decision  not judged, because the call would not get that far
",
    );
}

#[test]
fn the_context_is_held_to_its_schema() {
    let folder = prices("^1");
    check(
        &folder,
        "why price.lookup article=AB1234",
        r#"
exit 4
price.lookup@1  Look up a price
input     the host's context does not fit: "shop" is a required property
driver    prices: it is the only one left
limits    [time], one attempt
risk      1 (medium)
approval  auto
grant     tool:price.lookup
decision  not judged, because the call would not get that far
"#,
    );
    let (exit, said) =
        answer(&folder, "why price.lookup article=AB1234 --context {\"shop\":7} --json");
    assert_eq!(exit, 4);
    assert_eq!(
        said["input"],
        json!({
            "given": true,
            "fits": false,
            "error": {
                "error_code": "input.context",
                "error_class": "setup_required",
                "code": "input_invalid",
                "aruntime_code": "input.invalid",
                "message": "the host's context does not fit at `/shop`: 7 is not of type \"string\"",
                "field": "context",
                "help": null,
                "cause": {
                    "violations": [
                        {
                            "pointer": "/shop",
                            "rule": "type",
                            "message": "7 is not of type \"string\"",
                            "value": 7
                        }
                    ]
                }
            }
        })
    );
}

#[test]
fn an_input_can_be_json_or_a_file() {
    let folder = prices("^1").file("call.json", "{ \"article\": \"AB1234\" }");
    let file = folder.path().join("call.json");
    for input in ["{\"article\":\"AB1234\"}".to_owned(), format!("@{}", file.display())] {
        let (exit, said) = answer(&folder, &format!("why quote --input {input} {IN_SHOP} --json"));
        assert_eq!((exit, &said["input"]["fits"]), (0, &json!(true)), "{input}");
    }
}

#[test]
fn unparsable_input_is_a_usage_error() {
    let folder = prices("^1");
    check(
        &folder,
        "why price.lookup AB1234",
        r"
exit 2
! error: `AB1234` is not `key=value`; use `--input` for a whole JSON object
",
    );
    check(
        &folder,
        "why price.lookup --input {",
        r"
exit 2
! error: `{` is not JSON: EOF while parsing an object at line 1 column 1
",
    );
    check(
        &folder,
        "why price.lookup --input @nowhere.json",
        r"
exit 2
! error: cannot read `nowhere.json`: No such file or directory (os error 2)
",
    );
}
