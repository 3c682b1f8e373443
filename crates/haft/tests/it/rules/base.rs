//! Base documents: valid documents, one top-level field per line, that a case spoils.

use std::fs;

use crate::rules::fixtures;

/// A document that lines can be changed in.
pub(crate) struct Base {
    form: Form,
    fields: Vec<(String, String)>,
}

/// How a document is written down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Markdown,
    Json,
}

impl Base {
    /// The document of this name, as it stands in the fixtures.
    pub(crate) fn named(name: &str) -> Base {
        let read = |ending: &str| {
            fs::read_to_string(fixtures().join("bases").join(name.to_owned() + ending))
        };
        let (form, text) = match read(".md") {
            Ok(text) => (Form::Markdown, text),
            Err(_) => (Form::Json, read(".json").unwrap_or_else(|_| panic!("no base `{name}`"))),
        };
        let lines = text.lines().filter(|line| !["---", "{", "}"].contains(line));
        let field = |line: &str| {
            let (key, value) = line.split_once(':').unwrap_or_else(|| panic!("{name}: `{line}`"));
            let value = value.trim();
            (key.trim().replace('"', ""), value.strip_suffix(',').unwrap_or(value).to_owned())
        };
        Base { form, fields: lines.map(field).collect() }
    }

    /// Gives a field another value, or adds it at the end.
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        match self.fields.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value.to_owned(),
            None => self.fields.push((key.to_owned(), value.to_owned())),
        }
    }

    /// Takes a field away; none when there is no such field.
    pub(crate) fn drop(&mut self, key: &str) -> Option<()> {
        let at = self.fields.iter().position(|(name, _)| name == key)?;
        self.fields.remove(at);
        Some(())
    }

    /// The document.
    pub(crate) fn text(&self) -> String {
        let lines: Vec<String> =
            self.fields.iter().map(|(key, value)| self.line(key, value)).collect();
        match self.form {
            Form::Markdown => format!("---\n{}\n---\n", lines.join("\n")),
            Form::Json => format!("{{\n{}\n}}\n", lines.join(",\n")),
        }
    }

    fn line(&self, key: &str, value: &str) -> String {
        match self.form {
            Form::Markdown => format!("{key}: {value}").trim_end().to_owned(),
            Form::Json => format!("  \"{key}\": {value}"),
        }
    }
}
