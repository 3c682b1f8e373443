//! OpenAPI import benchmark without file access, run by `scripts/bench import [FILE]`.
//!
//! Without a file, the benchmark generates a document of 1,200 operations.

#![expect(clippy::unwrap_used, reason = "a document that cannot be read ends the measurement")]

use std::time::Instant;

use haft_import::{Base, Disk, Prune, merge, openapi, read_document};
use serde_json::{Map, Value, json};

/// How many operations the made-up document has.
const OPERATIONS: usize = 1_200;

fn main() {
    let file = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let text = match &file {
        Some(file) => std::fs::read_to_string(file).unwrap(),
        None => made_up().to_string(),
    };
    let begun = Instant::now();
    let document = read_document(file.as_deref().unwrap_or("made up"), &text).unwrap();
    let read = begun.elapsed();
    let options = openapi::OpenApiOptions { id: Some("bench".to_owned()), ..Default::default() };
    let import = openapi::import(&document, &options).unwrap();
    let imported = begun.elapsed() - read;
    let first = merge(&import, &Base::default(), &Disk::new(), Prune::default());
    // People changed every file, so that all are joined field by field.
    let edited = |text: &str| text.replacen("version: 1.0.0", "version: 1.0.1", 1);
    let disk = first.base.files.iter().map(|(path, text)| (path.clone(), edited(text))).collect();
    let mut other = import.clone();
    for file in &mut other.files {
        file.text = file.text.replacen("name: ", "name: My ", 1);
    }
    let begun = Instant::now();
    let second = merge(&other, &first.base, &disk, Prune::default());
    let merged = begun.elapsed();
    let (files, joined) = (import.files.len(), second.writes.len());
    println!("{} bytes read in {read:?}", text.len());
    println!("{files} files made in {imported:?}");
    println!("{joined} files joined with edits in {merged:?}");
}

/// A document whose operations share schemas, one of which leads back to itself.
fn made_up() -> Value {
    let field =
        |at: usize| (format!("field{at}"), json!({ "type": "string", "description": "A field." }));
    let mut thing: Map<String, Value> = (0..40).map(field).collect();
    thing.insert("parent".to_owned(), json!({ "$ref": "#/components/schemas/Thing" }));
    let answer = json!({ "$ref": "#/components/schemas/Thing" });
    let operation = |at: usize| {
        let content = json!({ "application/json": { "schema": answer } });
        json!({
            "operationId": format!("things/do{at}"), "summary": format!("Does {at}"),
            "parameters": [{ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }],
            "requestBody": { "required": true, "content": content },
            "responses": { "200": { "description": "Done.", "content": content } },
        })
    };
    let paths: Map<String, Value> = (0..OPERATIONS)
        .map(|at| (format!("/things{at}/{{id}}"), json!({ "post": operation(at) })))
        .collect();
    json!({
        "openapi": "3.1.0", "info": { "title": "Things" },
        "servers": [{ "url": "https://things.example" }],
        "paths": paths,
        "components": { "schemas": { "Thing": { "type": "object", "properties": thing } } },
    })
}
