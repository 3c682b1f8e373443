//! OpenAPI import tests: what an import refuses, asks for or lists instead of guessing in silence.

use serde_json::{Value, json};

use super::*;

/// A document of these paths and components.
fn document(paths: Value, components: Value) -> Value {
    json!({
        "openapi": "3.0.3", "info": { "title": "Shop" }, "servers": [{ "url": "https://shop.example" }],
        "paths": paths, "components": components,
    })
}

fn imported(document: &Value) -> Import {
    import(document, &OpenApiOptions::default()).unwrap()
}

/// The fields of the file whose path contains a name.
fn fields(import: &Import, name: &str) -> Value {
    let file = import.files.iter().find(|file| file.path.contains(name)).unwrap();
    crate::manifest::parsed(&file.path, &file.text).unwrap().0
}

#[test]
fn get_that_changes_something_asks_and_is_listed_first() {
    let get = |id: &str| json!({ "get": { "operationId": id, "responses": {} } });
    let paths =
        json!({ "/a": get("listOrders"), "/b": get("deleteOrder"), "/c": get("sendOrder") });
    let import = imported(&document(paths, json!({})));
    let told = |name: &str| {
        let tool = fields(&import, name);
        let class = tool.pointer("/metadata/haft/class").cloned().unwrap_or_default();
        json!([tool["mutates"], tool["approval"], tool["risk_level"], tool["idempotent"], class])
    };
    assert_eq!(told("list-orders"), json!([[], "auto", 0, true, ["read-only"]]));
    let shop = ["external:shop.example"];
    assert_eq!(told("delete-order"), json!([shop, "always", 3, false, ["irreversible"]]));
    assert_eq!(told("send-order"), json!([shop, "on-mutate", 2, false, null]));
    let guesses: Vec<String> =
        import.guesses.iter().map(|guess| format!("{}: {}", guess.value, guess.why)).collect();
    assert_eq!(
        guesses,
        [
            "irreversible, risk 3, always asks: it is a GET, and `delete` in its operation id says that it changes something",
            "writes, risk 2, asks: it is a GET, and `send` in its operation id says that it changes something",
            "reads only, risk 0, runs without asking: HTTP says that GET only reads",
        ]
    );
}

#[test]
fn security_schemes_of_one_slug_get_a_suffix() {
    let schemes = json!({
        "apiKey": { "type": "apiKey", "in": "header", "name": "X-Key" },
        "api_key": { "type": "apiKey", "in": "query", "name": "key" },
    });
    let operation = json!({ "security": [{ "apiKey": [], "api_key": [] }], "responses": {} });
    let paths = json!({ "/a": { "get": operation } });
    let import = imported(&document(paths, json!({ "securitySchemes": schemes })));
    let secrets: Vec<(&str, &str)> =
        import.secrets.iter().map(|one| (one.slug.as_str(), one.variable.as_str())).collect();
    assert_eq!(secrets, [("shop/api-key", "SHOP_API_KEY"), ("shop/api-key-2", "SHOP_API_KEY_2")]);
    let driver = fields(&import, "DRIVER.md");
    let http = driver.pointer("/implements/0/metadata/http").unwrap();
    assert_eq!(http["query_template"], json!({ "key": "${secrets.SHOP_API_KEY_2}" }));
}

#[test]
fn parameter_that_the_drivers_secret_fills_is_no_input() {
    let schemes = json!({
        "key": { "type": "apiKey", "in": "query", "name": "token" },
        "login": { "type": "http", "scheme": "bearer" },
    });
    let parameter = |name: &str, about: &str| {
        let schema = json!({ "type": "string" });
        json!({ "name": name, "in": "query", "required": true, "description": about, "schema": schema })
    };
    let listed = |security: Value, parameters: Value| {
        let operation = json!({ "security": security, "parameters": parameters, "responses": {} });
        let paths = json!({ "/a": { "get": operation } });
        let import = imported(&document(paths, json!({ "securitySchemes": schemes })));
        let inputs = fields(&import, "TOOL.md")["inputs"]["properties"].clone();
        let names: Vec<String> = inputs.as_object().unwrap().keys().cloned().collect();
        (names.join(" "), import.secrets.len())
    };
    let token = parameter("token", "Authentication token. Requires scope: `read`");
    let page = parameter("page_token", "");
    let key = parameter("key", "The key of the entry.");
    let all = json!([token, page, key]);
    assert_eq!(listed(json!([{ "key": [] }]), all.clone()), ("page_token key".to_owned(), 1));
    assert_eq!(listed(json!([{ "login": [] }]), all.clone()), ("page_token key".to_owned(), 1));
    assert_eq!(listed(json!([]), all), ("page_token key".to_owned(), 1));
}

#[test]
fn operation_whose_request_cannot_be_resolved_is_refused() {
    let paths = json!({
        "/a": { "get": { "parameters": [{ "$ref": "gone.yaml#/p" }], "responses": {} } },
        "/b": { "post": { "requestBody": { "$ref": "#/components/requestBodies/gone" }, "responses": {} } },
        "/c": { "get": { "responses": { "200": { "$ref": "gone.yaml#/r" } } } },
    });
    let import = imported(&document(paths, json!({})));
    let skipped: Vec<String> =
        import.skipped.iter().map(|part| format!("{}: {}", part.what, part.why)).collect();
    assert_eq!(
        skipped,
        [
            "GET /a: `gone.yaml#/p` cannot be followed, and the request depends on it",
            "POST /b: `#/components/requestBodies/gone` cannot be followed, and the request depends on it",
        ]
    );
    let hollow: Vec<String> =
        import.guesses.iter().map(|guess| format!("{} {}", guess.field, guess.why)).collect();
    assert!(hollow.contains(&"outputs `gone.yaml#/r` cannot be followed".to_owned()), "{hollow:?}");
}

#[test]
fn swagger_parameter_that_leads_nowhere_refuses_its_operation() {
    let import = import(
        &json!({
            "swagger": "2.0", "info": { "title": "Shop" }, "host": "shop.example",
            "paths": {
                "/a": { "get": { "parameters": [{ "$ref": "gone.yaml#/p" }], "responses": {} } },
                "/b": { "get": { "responses": {} } },
            },
        }),
        &OpenApiOptions::default(),
    );
    let skipped = import.unwrap().skipped;
    assert_eq!(skipped.first().map(|part| part.what.as_str()), Some("GET /a"));
}

#[test]
fn files_of_a_document_become_definitions_and_parameters() {
    let pet = json!({ "$ref": "schemas/pet.yaml" });
    let content = json!({ "application/json": { "schema": { "type": "array", "items": pet } } });
    let answer = json!({ "200": { "description": "", "content": content } });
    let operation =
        json!({ "parameters": [{ "$ref": "params.yaml#/limit" }], "responses": answer });
    let mut bundle =
        Bundle::new("api.yaml", document(json!({ "/a": { "get": operation } }), json!({})));
    let files = [
        (
            "params.yaml",
            json!({ "limit": { "name": "limit", "in": "query", "schema": { "type": "integer" } } }),
        ),
        (
            "schemas/pet.yaml",
            json!({ "type": "object", "properties": {
            "mother": { "$ref": "pet.yaml" }, "tag": { "$ref": "#/tags" } }, "tags": { "type": "string" } }),
        ),
    ];
    for (path, file) in files {
        assert_eq!(bundle.next_file().as_deref(), Some(path));
        bundle.add(path, file);
    }
    let (joined, refused) = bundle.join();
    assert_eq!(refused, []);
    let tool = fields(&imported(&joined), "TOOL.md");
    assert_eq!(tool["inputs"]["properties"], json!({ "limit": { "type": "integer" } }));
    let pet = json!({ "$ref": "#/$defs/pet" });
    assert_eq!(
        tool["outputs"],
        json!({ "type": "object", "properties": { "items": { "type": "array", "items": pet } },
            "$defs": { "pet": { "type": "object",
                "properties": { "mother": pet, "tag": { "type": "string" } } } } })
    );
}

/// A graph of schemas that lead to each other, each with so many fields.
fn graph(schemas: usize) -> Value {
    let node = |at: usize| {
        let field = |step: usize| {
            let next = format!("#/components/schemas/Node{}", (at * 3 + step) % schemas);
            (format!("field{step}"), json!({ "$ref": next, "x-note": "kept nowhere" }))
        };
        let fields: serde_json::Map<String, Value> = (0..20).map(field).collect();
        (format!("Node{at}"), json!({ "type": "object", "properties": fields }))
    };
    Value::Object((0..schemas).map(node).collect())
}

#[test]
fn recursive_schema_beyond_the_limit_keeps_definitions_with_types() {
    let top = json!({ "$ref": "#/components/schemas/Node0" });
    let content = json!({ "application/json": { "schema": top } });
    let answer = json!({ "200": { "description": "", "content": content } });
    let paths = json!({ "/a": { "get": { "responses": answer } } });
    let import = imported(&document(paths, json!({ "schemas": graph(500) })));
    let tool = fields(&import, "TOOL.md");
    let definitions = tool["outputs"]["$defs"].as_object().unwrap();
    let whole = definitions.values().filter(|one| one.get("properties").is_some()).count();
    let outlines = definitions.values().filter(|one| **one == json!({ "type": "object" })).count();
    assert!(whole >= 20 && outlines >= 20, "{whole} {outlines}");
    assert_eq!(whole + outlines, definitions.len(), "nothing is anything");
    let why: Vec<&str> = import.guesses.iter().map(|guess| guess.why.as_str()).collect();
    assert!(why.contains(&"the whole schema is larger than a contract can hold"), "{why:?}");
}

#[test]
fn shared_losses_are_listed_once_for_all_operations() {
    let top = json!({ "$ref": "#/components/schemas/Node0" });
    let content = json!({ "application/json": { "schema": top } });
    let answer = json!({ "200": { "description": "", "content": content } });
    let operation = json!({ "get": { "responses": answer } });
    let losses =
        |paths: Value| imported(&document(paths, json!({ "schemas": graph(20) }))).losses.len();
    let one = losses(json!({ "/a": operation }));
    assert!(one > 0);
    assert_eq!(losses(json!({ "/a": operation, "/b": operation, "/c": operation })), one);
}
