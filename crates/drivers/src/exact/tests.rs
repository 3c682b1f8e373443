//! Tests of exact numbers: which numbers keep their digits, and which texts stay unchanged.

use haft_testkit::{NumberTexts, decimal};
use serde_json::json;

use super::*;

#[test]
fn any_number_of_an_answer_keeps_its_value() {
    for number in NumberTexts(0x2545_f491_4f6c_dd1d).take(3000) {
        let text = format!(r#"{{"text": "-1.5 \" {number}", "a/b": [0, {number}], "z": 12}}"#);
        let output = settled(Output::read(read(text.as_bytes()).unwrap()));
        let value = output.structured.unwrap();
        assert_eq!(value["text"], json!(format!("-1.5 \" {number}")), "{number}");
        assert_eq!(value["z"], json!(12), "{number}");
        let told = match output.exact.as_slice() {
            [] => value["a/b"][1].to_string(),
            [exact] => {
                assert_eq!(exact.pointer, "/a~1b/1", "{number}");
                assert_eq!(exact.digits, number, "{number}");
                exact.digits.clone()
            }
            more => panic!("{number}: {more:?}"),
        };
        assert_eq!(decimal(&told), decimal(&number), "{number} became {told}");
    }
}

#[test]
fn numbers_elsewhere_in_a_message_are_left_alone() {
    let long = "0.12345678901234567890";
    let text = format!(
        r#"{{"id": 1, "p": {long}, "result": {{"q": {long}, "structuredContent": {{"r": {long}}}}}}}"#
    );
    let marked = marked(text.as_bytes(), &["result", "structuredContent"]);
    let value: Value = serde_json::from_slice(&marked).unwrap();
    assert!(value["p"].is_f64() && value["result"]["q"].is_f64());
    let found = value["result"]["structuredContent"]["r"].as_str().unwrap();
    assert_eq!(digits(found), Some(long));
}

#[test]
fn text_that_is_no_json_stays_none() {
    for text in
        ["01", "1.e5", "-", "1e", "{\"a\": 00000000000000000000001}", "\"", "[1,", "+1", "1-1"]
    {
        assert!(read(text.as_bytes()).is_err(), "{text}");
    }
    for text in ["12345678901234567890123", "[\"\\\\\", 0.1]", "{\"a\": {\"a\": 1, \"a\": 2}}"] {
        assert!(read(text.as_bytes()).is_ok(), "{text}");
    }
}
