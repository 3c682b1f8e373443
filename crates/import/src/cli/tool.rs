//! Command import: the contract of one command, and the argument templates that run it.

use serde_json::{Map, Value, json};

use super::{Help, HelpPage, ProgramEffects, VERSION};
use crate::import::Margin;
use crate::manifest::manifest;
use crate::text;

/// A contract and its command line.
pub(super) struct ImportedCommand {
    pub(super) text: String,
    pub(super) argv: Vec<String>,
}

/// A command: its id here, what people type, and what it is known to do.
pub(super) struct Command<'a> {
    pub(super) id: &'a str,
    pub(super) called: &'a str,
    pub(super) effects: ProgramEffects,
}

/// Makes the contract of a command.
pub(super) fn made(
    command: &Command<'_>,
    help: &Help,
    page: &HelpPage,
    margin: &mut Margin,
) -> ImportedCommand {
    let (inputs, argv) = inputs(help, page, margin);
    let text = contract(command, help, &inputs, margin);
    ImportedCommand { text, argv }
}

/// The inputs, and the arguments made of them.
fn inputs(help: &Help, page: &HelpPage, margin: &mut Margin) -> (Value, Vec<String>) {
    let mut argv: Vec<String> = page.command.clone();
    let mut properties = Map::new();
    for flag in &help.flags {
        let name = &flag.input;
        if properties.contains_key(name) {
            continue;
        }
        let word = if flag.value.is_some() { "optional" } else { "flag" };
        argv.push(format!("${{{word}('{}', input.{name})}}", flag.spelled));
        let schema = flag.value.clone().unwrap_or_else(|| json!({ "type": "boolean" }));
        properties.insert(name.clone(), described(schema, &flag.about));
    }
    let required = positionals(help, &mut properties, &mut argv, margin);
    let mut schema = json!({ "type": "object", "properties": properties });
    if let Some(fields) = schema.as_object_mut() {
        if !required.is_empty() {
            fields.insert("required".to_owned(), json!(required));
        }
        fields.insert("additionalProperties".to_owned(), json!(false));
    }
    (schema, argv)
}

/// Adds the arguments without names, and gives back those that must be there.
fn positionals(
    help: &Help,
    properties: &mut Map<String, Value>,
    argv: &mut Vec<String>,
    margin: &mut Margin,
) -> Vec<String> {
    let mut required = Vec::new();
    let mut ended = false;
    for positional in &help.positionals {
        let taken = properties.contains_key(&positional.input);
        let mark = if taken { "_argument" } else { "" };
        let name = format!("{}{mark}", positional.input);
        let schema = described(json!({ "type": "string", "minLength": 1 }), &positional.about);
        let field = format!("inputs.{name}");
        if positional.required {
            argv.push(format!("${{input.{name}}}"));
            required.push(name.clone());
        } else if !ended {
            argv.push(format!("${{optional('--', input.{name})}}"));
            let why = "the argument may be missing, and only `--` can stand before it";
            margin.guess(&field, "behind `--`", why, "edit `argv` of the driver");
            ended = true;
        } else {
            let why = "only one argument that may be missing can be told from the others";
            margin.guess(&field, "left out", why, "edit the contract and the driver");
            continue;
        }
        properties.insert(name, schema);
    }
    required
}

fn described(mut schema: Value, about: &str) -> Value {
    if let (false, Some(fields)) = (about.is_empty(), schema.as_object_mut()) {
        fields.insert("description".to_owned(), json!(about));
    }
    schema
}

fn contract(command: &Command<'_>, help: &Help, inputs: &Value, margin: &mut Margin) -> String {
    let Command { id, called, effects } = *command;
    let reads = effects == ProgramEffects::ReadOnly;
    let (value, why) = match effects {
        ProgramEffects::ReadOnly => {
            ("reads only, risk 0, runs without asking", "`--read-only` says so")
        }
        ProgramEffects::Unknown => {
            ("may change the workspace, risk 2, asks", "a help text does not say what changes")
        }
    };
    let change = "edit `mutates`, `risk_level` and `approval` of the contract";
    margin.guess("effects", value, why, change);
    let about =
        if help.about.is_empty() { format!("Runs `{called}`.") } else { help.about.clone() };
    let mut imported = json!({ "from": "cli", "source": called.split(' ').next(), "name": called });
    if let (true, Some(fields)) = (reads, imported.as_object_mut()) {
        fields.insert("effects".to_owned(), json!("vouched"));
    }
    let class = if reads { json!(["read-only"]) } else { json!(["code-execution"]) };
    let mut fields = Map::new();
    let mut say = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    say("name", json!(text::line(called, 80)));
    say("id", json!(id));
    say("description", json!(text::prose(&about, 2000)));
    say("version", json!(VERSION));
    say("mutates", if reads { json!([]) } else { json!(["workspace:*"]) });
    say("requires", json!({}));
    say("approval", json!(if reads { "auto" } else { "on-mutate" }));
    say("risk_level", json!(if reads { 0 } else { 2 }));
    say("inputs", inputs.clone());
    let text = json!({ "type": "string", "description": "What it prints." });
    say(
        "outputs",
        json!({ "type": "object", "properties": { "text": text }, "required": ["text"] }),
    );
    say("metadata", json!({ "haft": { "class": class, "imported": imported } }));
    let body =
        "Imported by `haft add cli`.\nWhat you change here is kept when it is imported again.\n";
    manifest(&fields, body)
}
