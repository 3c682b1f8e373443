//! Where a workspace keeps its facts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_ledger::{MemoryStore, SqliteOptions, SqliteStore, Store};

use crate::{Error, Workspace};

/// Which store a host uses.
#[derive(Clone, Default)]
pub enum StoreChoice {
    /// The one that haft.toml names.
    #[default]
    Settings,
    /// The one that haft.toml names, where it exists. Where it does not, nothing was recorded yet,
    /// and looking does not make it.
    IfPresent,
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
            StoreChoice::Settings => Ok(Arc::new(SqliteStore::open(workspace.store_files()?)?)),
            StoreChoice::IfPresent => {
                let files = workspace.store_files()?;
                match files.db.is_file() {
                    true => Ok(Arc::new(SqliteStore::open(files)?)),
                    false => Ok(Arc::new(MemoryStore::new())),
                }
            }
        }
    }
}

impl Workspace {
    /// The files of its store.
    pub fn store_files(&self) -> Result<SqliteOptions, Error> {
        let store = &self.settings().store;
        Ok(SqliteOptions {
            db: place(self.root(), &store.url, "sqlite:")?,
            payloads: place(self.root(), &store.payloads, "file:")?,
            ..SqliteOptions::at(self.root())
        })
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
