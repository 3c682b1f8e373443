//! Document bundling: joins the files of an OpenAPI document into one, and lists what it cannot join.
//!
//! A reference to a file leads to a file below the folder of the document, or nowhere. The files are
//! read elsewhere: this says which are needed, and takes their contents.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::import::SkippedPart;
use crate::schema::unescaped;

/// The field of a joined document that holds the files beside it, by their paths.
pub(super) const FILES: &str = "x-haft-files";

/// A document and the files beside it.
#[derive(Debug)]
pub struct Bundle {
    /// The name of the document's own file.
    name: String,
    document: Value,
    files: BTreeMap<String, Value>,
    open: BTreeSet<String>,
    /// References and files that lead nowhere, and why.
    refused: BTreeMap<String, String>,
}

impl Bundle {
    /// A document, by the name of its file in its folder.
    pub fn new(name: &str, document: Value) -> Bundle {
        let mut bundle = Bundle {
            name: name.to_owned(),
            document: Value::Null,
            files: BTreeMap::new(),
            open: BTreeSet::new(),
            refused: BTreeMap::new(),
        };
        bundle.look_for_files(name, &document);
        bundle.document = document;
        bundle
    }

    /// The path of a file that is needed next, from the folder of the document; it never climbs out.
    pub fn next_file(&mut self) -> Option<String> {
        self.open.pop_first()
    }

    /// Adds the contents of a file.
    pub fn add(&mut self, path: &str, document: Value) {
        self.look_for_files(path, &document);
        self.files.insert(path.to_owned(), document);
    }

    /// Notes why a file cannot be read.
    pub fn refuse(&mut self, path: &str, why: impl Into<String>) {
        self.refused.insert(path.to_owned(), why.into());
    }

    /// The document with its files inside, and what it refers to that cannot be read.
    pub fn join(mut self) -> (Value, Vec<SkippedPart>) {
        let known: BTreeSet<String> = self.files.keys().cloned().collect();
        let names = FileNames { document: &self.name, known: &known };
        names.rewrite(&self.name, &mut self.document);
        let mut files = Map::new();
        for (path, mut value) in self.files {
            names.rewrite(&path, &mut value);
            files.insert(path, value);
        }
        if let (false, Value::Object(fields)) = (files.is_empty(), &mut self.document) {
            fields.insert(FILES.to_owned(), Value::Object(files));
        }
        let refused = self.refused.into_iter();
        let refused = refused.map(|(what, why)| SkippedPart { what, why }).collect();
        (self.document, refused)
    }

    fn look_for_files(&mut self, holder: &str, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|one| self.look_for_files(holder, one)),
            Value::Object(fields) => {
                if let Some(Value::String(target)) = fields.get("$ref") {
                    self.want(holder, target);
                }
                fields.values().for_each(|one| self.look_for_files(holder, one));
            }
            _ => {}
        }
    }

    fn want(&mut self, holder: &str, target: &str) {
        let file = target.split('#').next().unwrap_or_default();
        match resolve(holder, file) {
            _ if file.is_empty() => {}
            Some(path) => {
                if path != self.name
                    && !self.files.contains_key(&path)
                    && !self.refused.contains_key(&path)
                {
                    self.open.insert(path);
                }
            }
            None => {
                let why = "it leads out of the folder of the document, and is not followed";
                self.refused.insert(crate::text::line(target, 200), why.to_owned());
            }
        }
    }
}

/// The files that a reference may name.
struct FileNames<'n> {
    document: &'n str,
    known: &'n BTreeSet<String>,
}

impl FileNames<'_> {
    /// Makes every reference of a file one inside of the joined document.
    fn rewrite(&self, holder: &str, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|one| self.rewrite(holder, one)),
            Value::Object(fields) => {
                if let Some(Value::String(target)) = fields.get("$ref")
                    && let Some(inside) = self.inside(holder, target)
                {
                    fields.insert("$ref".to_owned(), json!(inside));
                }
                fields.values_mut().for_each(|one| self.rewrite(holder, one));
            }
            _ => {}
        }
    }

    fn inside(&self, holder: &str, target: &str) -> Option<String> {
        let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
        let path = if file.is_empty() { holder.to_owned() } else { resolve(holder, file)? };
        if path == self.document {
            return Some(format!("#{fragment}"));
        }
        let escaped = path.replace('~', "~0").replace('/', "~1").replace('%', "%25");
        self.known.contains(&path).then(|| format!("#/{FILES}/{escaped}{fragment}"))
    }
}

/// The path of a file that another names, from the folder of the document; none where it leads out.
fn resolve(holder: &str, file: &str) -> Option<String> {
    let file = unescaped(file.split('?').next().unwrap_or_default());
    if file.is_empty() || file.starts_with('/') || file.contains(['\\', ':', '\0']) {
        return None;
    }
    let mut steps: Vec<&str> = holder.split('/').collect();
    steps.pop();
    for step in file.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop()?;
            }
            step => steps.push(step),
        }
    }
    (!steps.is_empty()).then(|| steps.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_reference_resolves_only_below_the_documents_folder() {
        for (holder, file, path) in [
            ("api.yaml", "pet.yaml", Some("pet.yaml")),
            ("api.yaml", "./schemas/pet%20a.json", Some("schemas/pet a.json")),
            ("schemas/pet.yaml", "../common.yaml", Some("common.yaml")),
            ("schemas/pet.yaml", "tag.yaml", Some("schemas/tag.yaml")),
            ("api.yaml", "../secret.yaml", None),
            ("schemas/pet.yaml", "../../secret.yaml", None),
            ("api.yaml", "%2e%2e/secret.yaml", None),
            ("api.yaml", "/etc/passwd", None),
            ("api.yaml", "%2Fetc/passwd", None),
            ("api.yaml", "file:///etc/passwd", None),
            ("api.yaml", "https://elsewhere.example/pet.yaml", None),
            ("api.yaml", "C:\\pet.yaml", None),
            ("api.yaml", "..\\pet.yaml", None),
        ] {
            assert_eq!(resolve(holder, file).as_deref(), path, "{holder} {file}");
        }
    }

    #[test]
    fn files_beside_a_document_are_joined_into_it() {
        let document = json!({ "a": { "$ref": "s/pet.yaml#/Pet" }, "b": { "$ref": "#/c" },
            "d": { "$ref": "../x.yaml" }, "e": { "$ref": "gone.yaml" } });
        let mut bundle = Bundle::new("api.yaml", document);
        let pet = json!({ "Pet": { "owner": { "$ref": "#/Owner" }, "up": { "$ref": "../api.yaml#/c" } } });
        assert_eq!(bundle.next_file().as_deref(), Some("gone.yaml"));
        bundle.refuse("gone.yaml", "it is not there");
        assert_eq!(bundle.next_file().as_deref(), Some("s/pet.yaml"));
        bundle.add("s/pet.yaml", pet);
        assert_eq!(bundle.next_file(), None);
        let (joined, refused) = bundle.join();
        let pet = "#/x-haft-files/s~1pet.yaml";
        assert_eq!(
            joined,
            json!({ "a": { "$ref": format!("{pet}/Pet") }, "b": { "$ref": "#/c" },
                "d": { "$ref": "../x.yaml" }, "e": { "$ref": "gone.yaml" },
                "x-haft-files": { "s/pet.yaml": { "Pet": {
                    "owner": { "$ref": format!("{pet}/Owner") }, "up": { "$ref": "#/c" } } } } })
        );
        let refused: Vec<String> =
            refused.into_iter().map(|part| format!("{}: {}", part.what, part.why)).collect();
        assert_eq!(
            refused,
            [
                "../x.yaml: it leads out of the folder of the document, and is not followed",
                "gone.yaml: it is not there"
            ]
        );
    }
}
