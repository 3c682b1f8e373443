//! Three-way tree merge, field by field: the side that changed wins, and people win where both did.

use serde_json::{Map, Value};

use super::Conflict;

/// Fields by which the items of a list are told apart.
const IDENTITIES: [&str; 4] = ["tool", "slug", "code", "name"];

/// What came of it beside the value.
#[derive(Default)]
pub(super) struct MergedValue {
    pub(super) conflicts: Vec<Conflict>,
}

impl MergedValue {
    /// The value of a field in which people's changes and the source's are both made.
    pub(super) fn value(
        &mut self,
        field: &str,
        base: Option<&Value>,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) -> Option<Value> {
        if ours == theirs || base == theirs {
            return ours.cloned();
        }
        if base == ours {
            return theirs.cloned();
        }
        match (ours, theirs) {
            (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
                let none = Map::new();
                let base = base.and_then(Value::as_object).unwrap_or(&none);
                Some(Value::Object(self.map(field, base, ours, theirs)))
            }
            (Some(Value::Array(ours)), Some(Value::Array(theirs))) => {
                let base = base.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                match identity(&[base, ours, theirs]) {
                    Some(name) => Some(Value::Array(self.list(field, name, [base, ours, theirs]))),
                    None => self.both(field, ours.clone().into(), theirs.clone().into()),
                }
            }
            _ => {
                self.note(field, ours, theirs);
                ours.cloned()
            }
        }
    }

    /// The text below the fields.
    pub(super) fn body<'t>(&mut self, base: &str, ours: &'t str, theirs: &'t str) -> &'t str {
        if base == ours {
            return theirs;
        }
        if base != theirs && ours != theirs {
            self.note("the text", Some(&ours.into()), Some(&theirs.into()));
        }
        ours
    }

    fn map(
        &mut self,
        field: &str,
        base: &Map<String, Value>,
        ours: &Map<String, Value>,
        theirs: &Map<String, Value>,
    ) -> Map<String, Value> {
        let new = theirs.keys().filter(|name| !ours.contains_key(*name));
        let names = ours.keys().chain(new);
        let join = |name: &String| {
            let below = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
            let value = self.value(&below, base.get(name), ours.get(name), theirs.get(name))?;
            Some((name.clone(), value))
        };
        names.filter_map(join).collect()
    }

    /// A list whose items have names.
    fn list(&mut self, field: &str, name: &str, lists: [&[Value]; 3]) -> Vec<Value> {
        let [base, ours, theirs] = lists;
        let named = |list: &'_ [Value], item: &Value| -> Option<Value> {
            list.iter().find(|other| other.get(name) == item.get(name)).cloned()
        };
        let new = theirs.iter().filter(|item| named(ours, item).is_none());
        let items: Vec<&Value> = ours.iter().chain(new).collect();
        let join = |item: &Value| {
            let called = item.get(name).and_then(Value::as_str).unwrap_or_default();
            let below = format!("{field}[{called}]");
            let [base, ours, theirs] = [base, ours, theirs].map(|list| named(list, item));
            self.value(&below, base.as_ref(), ours.as_ref(), theirs.as_ref())
        };
        items.into_iter().filter_map(join).collect()
    }

    fn both(&mut self, field: &str, ours: Value, theirs: Value) -> Option<Value> {
        self.note(field, Some(&ours), Some(&theirs));
        Some(ours)
    }

    fn note(&mut self, field: &str, ours: Option<&Value>, theirs: Option<&Value>) {
        self.conflicts.push(Conflict {
            file: String::new(),
            field: field.to_owned(),
            yours: ours.cloned().unwrap_or_default(),
            theirs: theirs.cloned().unwrap_or_default(),
        });
    }
}

/// The field that names every item of all lists, each item of a list differently.
pub(super) fn identity(lists: &[&[Value]]) -> Option<&'static str> {
    IDENTITIES.into_iter().find(|name| {
        let names = |list: &&[Value]| -> Option<Vec<String>> {
            list.iter().map(|item| item.get(*name)?.as_str().map(str::to_owned)).collect()
        };
        let differ = |mut names: Vec<String>| {
            let all = names.len();
            names.sort();
            names.dedup();
            names.len() == all
        };
        lists.iter().all(|list| names(list).is_some_and(differ))
            && lists.iter().any(|list| !list.is_empty())
    })
}
