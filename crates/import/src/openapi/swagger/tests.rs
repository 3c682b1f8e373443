//! Swagger conversion tests: a 2.0 document in, the equivalent OpenAPI 3.0 document out.

use super::*;

fn read(yaml: &str) -> Value {
    crate::read_document("shop.yaml", yaml).unwrap()
}

#[test]
fn a_document_of_3_is_left_as_it_is() {
    let document = json!({ "openapi": "3.1.0", "paths": {} });
    assert!(matches!(modern(&document), Cow::Borrowed(same) if *same == document));
}

#[test]
fn swagger_2_document_maps_to_openapi_3_0() {
    let old = read(
        r##"
swagger: "2.0"
info: { title: Shop, version: "1" }
host: shop.example
basePath: /v2
schemes: [http, https]
consumes: [application/json]
produces: [application/json]
securityDefinitions:
  key: { type: apiKey, name: X-Key, in: header }
  person: { type: basic }
  login: { type: oauth2, flow: accessCode, authorizationUrl: "https://a.example", tokenUrl: "https://t.example", scopes: { read: Reads } }
parameters:
  page: { name: page, in: query, type: integer, minimum: 1 }
responses:
  Gone: { description: It is gone, schema: { $ref: "#/definitions/Fault" } }
definitions:
  Fault: { type: object, properties: { why: { type: string, x-nullable: true } } }
  Pet: { type: object, discriminator: kind, properties: { kind: { type: string }, like: { $ref: "#/definitions/Pet" } } }
paths:
  /pets/{id}:
    parameters: [{ name: id, in: path, required: true, type: string }]
    get:
      operationId: find
      parameters:
        - $ref: "#/parameters/page"
        - { name: tags, in: query, type: array, items: { type: string }, collectionFormat: multi }
        - { name: ids, in: header, type: array, items: { type: integer } }
      responses:
        "200": { description: Found, schema: { $ref: "#/definitions/Pet" }, examples: { application/json: { kind: cat } } }
        "410": { $ref: "#/responses/Gone" }
    put:
      operationId: change
      parameters: [{ name: pet, in: body, required: true, description: The pet, schema: { $ref: "#/definitions/Pet" } }]
      responses: { "204": { description: Changed } }
    post:
      operationId: picture
      consumes: [application/x-www-form-urlencoded]
      parameters:
        - { name: file, in: formData, type: file, required: true }
        - { name: note, in: formData, type: string, description: What is seen }
      responses: { "200": { description: Kept } }
"##,
    );
    let id =
        json!({ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } });
    let pet = json!({ "$ref": "#/components/schemas/Pet" });
    let fault = json!({ "schema": { "$ref": "#/components/schemas/Fault" } });
    let expected = json!({
        "openapi": "3.0.3",
        "info": { "title": "Shop", "version": "1" },
        "servers": [{ "url": "https://shop.example/v2" }],
        "paths": { "/pets/{id}": {
            "get": {
                "operationId": "find",
                "parameters": [
                    id,
                    { "name": "page", "in": "query", "schema": { "type": "integer", "minimum": 1 } },
                    { "name": "tags", "in": "query", "style": "form", "explode": true,
                      "schema": { "type": "array", "items": { "type": "string" } } },
                    { "name": "ids", "in": "header", "style": "simple", "explode": false,
                      "schema": { "type": "array", "items": { "type": "integer" } } },
                ],
                "responses": {
                    "200": { "description": "Found", "content": { "application/json": {
                        "schema": pet, "example": { "kind": "cat" } } } },
                    "410": { "description": "It is gone", "content": { "application/json": fault } },
                },
            },
            "put": {
                "operationId": "change",
                "parameters": [id],
                "requestBody": { "description": "The pet", "required": true,
                    "content": { "application/json": { "schema": pet } } },
                "responses": { "204": { "description": "Changed" } },
            },
            "post": {
                "operationId": "picture",
                "parameters": [id],
                "requestBody": { "required": true, "content": { "multipart/form-data": { "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": { "type": "string", "format": "binary" },
                        "note": { "type": "string", "description": "What is seen" },
                    },
                } } } },
                "responses": { "200": { "description": "Kept" } },
            },
        } },
        "components": {
            "schemas": {
                "Fault": { "type": "object", "properties": { "why": { "type": "string", "nullable": true } } },
                "Pet": { "type": "object", "discriminator": { "propertyName": "kind" },
                    "properties": { "kind": { "type": "string" }, "like": pet } },
            },
            "securitySchemes": {
                "key": { "type": "apiKey", "name": "X-Key", "in": "header" },
                "person": { "type": "http", "scheme": "basic" },
                "login": { "type": "oauth2", "flows": { "authorizationCode": {
                    "authorizationUrl": "https://a.example", "tokenUrl": "https://t.example",
                    "scopes": { "read": "Reads" } } } },
            },
        },
    });
    assert_eq!(*modern(&old), expected);
}
