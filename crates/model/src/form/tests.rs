//! Elicitation form tests: what is read, what is refused, and what may be filled in.

use serde_json::{Value, json};

use super::*;

fn asked(properties: Value) -> Value {
    json!({
        "mode": "form", "message": "Which?",
        "requestedSchema": { "type": "object", "properties": properties },
    })
}

fn refusal(properties: Value) -> String {
    ElicitationForm::read(&asked(properties)).unwrap_err().message
}

#[test]
fn form_keeps_only_supported_schema_parts() {
    let form = ElicitationForm::read(&json!({
        "message": "Which\u{200b} \u{1b}[31mone?\nTell us.",
        "requestedSchema": {
            "type": "object", "additionalProperties": true, "required": ["size", "gone"],
            "properties": {
                "size": { "type": "integer", "maximum": 3, "x-own": 1, "title": "How\nlarge" },
                "colour": { "type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"] },
                "kinds": {
                    "type": "array", "maxItems": 1,
                    "items": { "anyOf": [{ "const": "a", "title": "A" }] },
                },
                "mail": { "type": "string", "format": "email", "default": "nobody" },
            },
        },
    }))
    .unwrap();
    assert_eq!(form.message, "Which one?\nTell us.");
    assert_eq!(
        form.schema,
        json!({
            "type": "object", "required": ["size"],
            "properties": {
                "size": { "type": "integer", "maximum": 3, "title": "How large" },
                "colour": { "type": "string", "oneOf": [
                    { "const": "r", "title": "Red" }, { "const": "g", "title": "Green" },
                ] },
                "kinds": { "type": "array", "maxItems": 1, "items": {
                    "type": "string", "oneOf": [{ "const": "a", "title": "A" }],
                } },
                "mail": { "type": "string", "format": "email" },
            },
        })
    );
}

#[test]
fn what_cannot_be_shown_is_refused() {
    let begins = "the backend asks by a form that is not shown: ";
    for (properties, why) in [
        (json!({"a": {"type": "object"}}), "its field `a` holds `object`, which is no plain value"),
        (json!({"a": {}}), "its field `a` does not say what it holds"),
        (
            json!({"a": {"type": "array", "items": {"type": "string"}}}),
            "its field `a` is a list of anything, and only a choice of several is shown",
        ),
        (
            json!({"a": {"type": "string", "format": "html"}}),
            "its field `a` wants the format `html`, which is unknown",
        ),
        (
            json!({"a": {"type": "string", "enum": ["x\u{202e}"]}}),
            "its field `a` offers a choice that cannot be shown as it is",
        ),
        (json!({"a\u{1b}": {"type": "string"}}), "a field of it has a name that cannot be shown"),
        (json!(3), "it does not say which fields it has"),
    ] {
        assert_eq!(refusal(properties), format!("{begins}{why}"));
    }
    let many: serde_json::Map<_, _> =
        (0..40).map(|n| (format!("f{n}"), json!({"type": "boolean"}))).collect();
    assert_eq!(refusal(Value::Object(many)), format!("{begins}it has 40 fields, and 32 are shown"));
    let long = "x".repeat(5000);
    let form =
        ElicitationForm::read(&json!({"message": long, "requestedSchema": {"properties": {}}}));
    assert_eq!(form.unwrap().message.chars().count(), 2001);
}

#[test]
fn what_looks_like_a_secret_is_never_asked_for() {
    for (name, field) in [
        ("password", json!({"type": "string"})),
        ("dbPassword", json!({"type": "string"})),
        ("API_KEY", json!({"type": "string"})),
        ("accessKey", json!({"type": "string"})),
        ("token", json!({"type": "string"})),
        ("pin", json!({"type": "integer"})),
        ("code", json!({"type": "string", "title": "Your one-time passcode"})),
        ("code", json!({"type": "string", "format": "password"})),
        ("code", json!({"type": "string", "writeOnly": true})),
    ] {
        let words = refusal(json!({ name: field }));
        assert!(words.starts_with("the backend asks for a secret by a form: "), "{name}: {words}");
    }
    for (name, field) in [
        ("token", json!({"type": "integer"})),
        ("max_tokens", json!({"type": "string"})),
        ("key", json!({"type": "string"})),
        ("shopping", json!({"type": "string"})),
        ("secret", json!({"type": "boolean"})),
        ("token", json!({"type": "string", "enum": ["new", "old"]})),
    ] {
        assert!(ElicitationForm::read(&asked(json!({ name: field }))).is_ok(), "{name}");
    }
}

#[test]
fn form_answer_fits_or_is_refused_by_field() {
    let form = ElicitationForm::read(&asked(json!({
        "n": { "type": "number", "minimum": 0.5 },
        "day": { "type": "string", "format": "date" },
        "at": { "type": "string", "format": "date-time" },
        "site": { "type": "string", "format": "uri" },
        "mail": { "type": "string", "format": "email" },
        "short": { "type": "string", "maxLength": 2 },
        "kinds": { "type": "array", "minItems": 1, "items": { "enum": ["a", "b"] } },
        "ok": { "type": "boolean" },
    })))
    .unwrap();
    let good = json!({
        "n": 1, "day": "2026-01-31", "at": "2026-01-31T00:00:00Z", "site": "https://x.example",
        "mail": "a@x.example", "short": "ab", "kinds": ["b", "a"], "ok": false,
    });
    assert_eq!(form.check(Some(good.clone())), Ok(good));
    assert_eq!(form.check(None), Ok(json!({})));
    for (name, value, why) in [
        ("n", json!(0.1), "it must be at least 0.5"),
        ("n", json!("1"), "it is not a number"),
        ("day", json!("31.1."), "it is not of the format `date`"),
        ("at", json!("noon"), "it is not of the format `date-time`"),
        ("site", json!("x"), "it is not of the format `uri`"),
        ("mail", json!("@"), "it is not of the format `email`"),
        ("short", json!("äöü"), "its length is 3, and it must be at most 2"),
        ("kinds", json!([]), "it holds 0 values, and it must be at least 1"),
        ("kinds", json!(["c"]), "it is none of the choices"),
        ("ok", json!("yes"), "it is not true or false"),
    ] {
        let stop = form.check(Some(json!({ name: value }))).unwrap_err();
        assert!(stop.message.starts_with(&format!("the field `{name}` cannot be `")), "{stop:?}");
        assert!(stop.message.ends_with(why), "{stop:?}");
        assert_eq!(stop.field, Some(format!("/{name}")));
    }
    let words = form.check(Some(json!([1]))).unwrap_err().message;
    assert_eq!(words, "a form is filled in by fields, and not by `[1]`");
}
