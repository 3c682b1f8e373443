//! Putting the schemas of names on a surface.

use haft_model::ToolKey;

use super::{Shown, Surface, View};
use crate::Snapshot;

/// What came of loading names.
#[derive(Clone, Debug)]
pub struct Loading {
    /// The surface with the schemas: the next revision, or the same where nothing was added.
    pub surface: Surface,
    /// The tools whose schemas were added, in the order of the names.
    pub loaded: Vec<ToolKey>,
    /// Those that were there before.
    pub already: Vec<ToolKey>,
    /// Those that cannot be loaded, and where they stand.
    pub refused: Vec<(ToolKey, Shown)>,
    /// Names that nobody here has.
    pub missing: Vec<String>,
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
                Shown::Deferred if !loading.loaded.contains(key) => {
                    loading.loaded.push(key.clone());
                }
                Shown::Deferred => {}
                Shown::Loaded => loading.already.push(key.clone()),
                Shown::Pending | Shown::Blocked(_) | Shown::Excluded(_) | Shown::Unknown => {
                    loading.refused.push((key.clone(), row.shown));
                }
            }
        }
        if !loading.loaded.is_empty() {
            loading.surface.loaded.extend(loading.loaded.iter().cloned());
            loading.surface.revision += 1;
        }
        loading
    }
}
