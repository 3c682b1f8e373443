//! Deferred loading: adds the schemas of named tools to a surface, and reports what it cannot load.

use haft_model::ToolKey;
use serde_json::{Value as Json, json};

use super::{Surface, View, Visibility};
use crate::Snapshot;

/// The result of loading names.
#[derive(Clone, Debug)]
pub struct Loading {
    /// The surface with the schemas: the same where nothing was added.
    pub surface: Surface,
    /// The tools whose schemas were added, in the order of the names.
    pub loaded: Vec<ToolKey>,
    /// Tools whose schemas were loaded before.
    pub already: Vec<ToolKey>,
    /// Tools that cannot be loaded, with their visibility.
    pub refused: Vec<(ToolKey, Visibility)>,
    /// Names that are unknown here.
    pub missing: Vec<String>,
}

impl Loading {
    /// The result as JSON, with the schema of each tool as the wire has it, and what was visible
    /// then.
    pub fn told(&self, schema: impl Fn(&ToolKey) -> Option<Json>, surface: Json) -> Json {
        let schemas = |keys: &[ToolKey]| keys.iter().filter_map(&schema).collect::<Vec<_>>();
        let refused = self.refused.iter().map(|(key, shown)| {
            json!({ "tool_id": key.to_string(), "state": shown.name(), "reason": shown.reason() })
        });
        let any = !(self.loaded.is_empty() && self.already.is_empty());
        json!({
            "loaded": schemas(&self.loaded),
            "already_loaded": schemas(&self.already),
            "refused": refused.collect::<Vec<_>>(),
            "missing_names": self.missing,
            "surface": surface,
            "next_action": if any { "call" } else { "search_with_other_words" },
        })
    }
}

impl Surface {
    /// Loads the schemas of names that are seen here.
    pub fn load<N: AsRef<str>>(&self, names: &[N], view: &View, snapshot: &Snapshot) -> Loading {
        let mut loading = Loading {
            surface: self.clone(),
            loaded: Vec::new(),
            already: Vec::new(),
            refused: Vec::new(),
            missing: Vec::new(),
        };
        for name in names.iter().map(AsRef::as_ref) {
            let Some(row) = view.find(name, snapshot) else {
                loading.missing.push(name.to_owned());
                continue;
            };
            let key = row.entry.contract.key();
            match row.shown {
                Visibility::Deferred if !loading.loaded.contains(key) => {
                    loading.loaded.push(key.clone());
                }
                Visibility::Deferred => {}
                Visibility::Loaded => loading.already.push(key.clone()),
                Visibility::Pending
                | Visibility::Blocked(_)
                | Visibility::Excluded(_)
                | Visibility::Unknown => {
                    loading.refused.push((key.clone(), row.shown));
                }
            }
        }
        loading.surface.loaded.extend(loading.loaded.iter().cloned());
        loading
    }
}
