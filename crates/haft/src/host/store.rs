//! Where a workspace keeps its facts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_ledger::{MemoryStore, SqliteOptions, SqliteStore, Store};

use super::identity::{IdentityFile, Memory};
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
    /// The store, and why nothing remembers which one it is, where nothing does.
    pub(super) fn open(
        self,
        workspace: &Workspace,
        identity: &IdentityFile,
    ) -> Result<(Arc<dyn Store>, Option<String>), Error> {
        let makes = match self {
            StoreChoice::Memory => return Ok((Arc::new(MemoryStore::new()), None)),
            StoreChoice::Given(store) => return Ok((store, None)),
            StoreChoice::Settings => true,
            StoreChoice::IfPresent => false,
        };
        let (files, memory) = (workspace.store_files()?, Memory::of(workspace, identity));
        if !files.db.is_file() {
            memory.may_be_new(&files.db)?;
            if !makes {
                return Ok((Arc::new(MemoryStore::new()), None));
            }
        }
        let store = SqliteStore::open(files)?;
        let unremembered = memory.recognise(&store)?;
        Ok((Arc::new(store), unremembered))
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
