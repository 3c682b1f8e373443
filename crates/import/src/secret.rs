//! Secrets that imported drivers need: their names in a `SECRETS.md`, never their values.

use serde_json::{Map, Value, json};

use crate::import::File;
use crate::manifest::manifest;

/// One secret that has to be set before calls can be made.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Secret {
    /// Its name in the inventory.
    pub slug: String,
    /// The variable that carries it to a driver.
    pub variable: String,
    /// Its name for people.
    pub name: String,
    /// The description: what it opens, and in what form to enter it.
    pub description: String,
    /// Its form.
    pub kind: SecretForm,
}

/// The form of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretForm {
    /// An opaque text.
    Opaque,
    /// A login that renews itself.
    OAuth,
}

impl Secret {
    /// The placeholder for its value in a manifest.
    pub(crate) fn placeholder(&self) -> String {
        format!("${{secrets.{}}}", self.variable)
    }
}

/// The inventory of an import's secrets, each with the tools that use it.
pub(crate) fn inventory(import: &str, secrets: &[(Secret, Vec<String>)]) -> Option<File> {
    if secrets.is_empty() {
        return None;
    }
    let entries: Vec<Value> = secrets.iter().map(|(secret, tools)| entry(secret, tools)).collect();
    let mut fields = Map::new();
    fields.insert("secrets".to_owned(), Value::Array(entries));
    let body = "Names of secrets, and which tools have them put into their requests.\n\
                The values are kept elsewhere: set each with `haft secrets set`.\n";
    Some(File { path: place(import), text: manifest(&fields, body) })
}

/// The path of an import's inventory.
pub(crate) fn place(import: &str) -> String {
    format!(".secrets/{import}/SECRETS.md")
}

/// The `auth` block of a driver: the inventory, and the variables.
pub(crate) fn auth(import: &str, variables: &[String]) -> Value {
    json!({
        "ref": format!("../../{}", place(import)),
        "state": { "env": variables },
    })
}

fn entry(secret: &Secret, tools: &[String]) -> Value {
    let mut bind: Vec<Value> = tools.iter().map(|tool| json!({ "tool": tool })).collect();
    if bind.is_empty() {
        bind.push(json!({ "role": "admin" }));
    }
    let field = match secret.kind {
        SecretForm::Opaque => "value",
        SecretForm::OAuth => "access_token",
    };
    json!({
        "slug": secret.slug,
        "name": secret.name,
        "description": secret.description,
        "kind": secret.kind,
        "access": { "bind": bind, "rotate": [{ "role": "admin" }] },
        "audit": { "classification": ["credential"] },
        "exposures": [{ "kind": "env", "name": secret.variable, "field": field }],
    })
}
