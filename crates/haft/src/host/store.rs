//! Where a workspace keeps its facts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_ledger::{MemoryStore, Store};

use crate::{Error, Workspace};

/// Which store a host uses.
#[derive(Clone, Default)]
pub enum StoreChoice {
    /// The one that haft.toml names.
    #[default]
    Settings,
    /// Nothing is kept beyond this process.
    Memory,
    /// One that is there already.
    Given(Arc<dyn Store>),
}

impl StoreChoice {
    pub(super) fn open(self, workspace: &Workspace) -> Result<Arc<dyn Store>, Error> {
        match self {
            StoreChoice::Memory => Ok(Arc::new(MemoryStore::new())),
            StoreChoice::Given(store) => Ok(store),
            StoreChoice::Settings => {
                let _ = place(workspace.root(), &workspace.settings().store.url, "sqlite:")?;
                Ok(Arc::new(MemoryStore::new()))
            }
        }
    }
}

fn place(root: &Path, url: &str, scheme: &str) -> Result<PathBuf, Error> {
    match url.strip_prefix(scheme) {
        Some(path) => Ok(root.join(path)),
        None => Err(Error::NoStore {
            url: url.to_owned(),
            reason: format!("only `{scheme}<path>` is known so far"),
        }),
    }
}
