//! One file of cases: read, judged, and compared with what it expects.

use std::path::Path;

use serde_json::Value as Json;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

use crate::blesses;
use crate::case::{Case, Expected};

/// Judges every case of a file; how many there are, and how those that are wrong differ.
pub(crate) fn check(path: &Path) -> (usize, Vec<String>) {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).unwrap();
    let mut document: DocumentMut = text.parse().unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let cases = document["case"].as_array_of_tables_mut().unwrap();
    let mut wrong = Vec::new();
    for table in cases.iter_mut() {
        let case: Case = serde_json::from_value(table_json(table))
            .unwrap_or_else(|fault| panic!("{name}: {fault} in\n{table}"));
        let title = &case.name;
        let found = case.judge();
        if case.expect == found {
            continue;
        }
        if blesses() {
            write(table["expect"].as_table_mut().unwrap(), &found);
        } else {
            wrong.push(format!(
                "{name}: {title}\n  expected {:?}\n  found    {found:?}",
                case.expect
            ));
        }
    }
    let count = cases.len();
    if blesses() {
        std::fs::write(path, document.to_string()).unwrap();
    }
    (count, wrong)
}

/// Puts what was found in place of what was expected.
fn write(expect: &mut Table, found: &Expected) {
    expect.clear();
    expect["verdict"] = toml_edit::value(&found.verdict);
    for (key, text) in [("code", &found.code), ("by", &found.by)] {
        if let Some(text) = text {
            expect[key] = toml_edit::value(text);
        }
    }
    for (key, lines) in
        [("opinions", &found.opinions), ("needs", &found.needs), ("offers", &found.offers)]
    {
        if !lines.is_empty() {
            expect[key] = toml_edit::value(list(lines));
        }
    }
}

/// One line for each text.
fn list(lines: &[String]) -> Array {
    let mut array = Array::new();
    for line in lines {
        let mut value = Value::from(line);
        value.decor_mut().set_prefix("\n  ");
        array.push_formatted(value);
    }
    array.set_trailing("\n");
    array.set_trailing_comma(true);
    array
}

fn table_json(table: &Table) -> Json {
    Json::Object(table.iter().map(|(key, item)| (key.to_owned(), item_json(item))).collect())
}

fn item_json(item: &Item) -> Json {
    match item {
        Item::None => Json::Null,
        Item::Value(value) => value_json(value),
        Item::Table(table) => table_json(table),
        Item::ArrayOfTables(tables) => tables.iter().map(table_json).collect(),
    }
}

fn value_json(value: &Value) -> Json {
    match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Float(number) => (*number.value()).into(),
        Value::Boolean(flag) => (*flag.value()).into(),
        Value::Datetime(instant) => instant.value().to_string().into(),
        Value::Array(values) => values.iter().map(value_json).collect(),
        Value::InlineTable(fields) => Json::Object(
            fields.iter().map(|(key, value)| (key.to_owned(), value_json(value))).collect(),
        ),
    }
}
