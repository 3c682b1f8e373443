//! Store selection: opens the ledger's store that haft.toml or the program names.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_ledger::{MemoryStore, SqliteOptions, SqliteStore, Store};

use super::identity::{IdentityFile, Memory};
use crate::{Error, Workspace};

/// The keys and the signed head, which lie beside the database.
const BESIDE_STORE: [&str; 4] = ["audit.key", "seal.key", "audit-keys.json", "audit-head.json"];

/// Which store a host uses.
#[derive(Clone, Default)]
pub enum StoreChoice {
    /// The one that haft.toml names.
    #[default]
    Settings,
    /// The one that haft.toml names, where it exists. Where it does not, nothing was recorded yet,
    /// and looking does not make it.
    IfPresent,
    /// In memory: nothing survives this process.
    Memory,
    /// A store that the program has opened.
    Given(Arc<dyn Store>),
}

impl StoreChoice {
    /// The store, and why nothing remembers which one it is, where nothing does.
    pub(super) fn open(
        self,
        workspace: &Workspace,
        identity: &IdentityFile,
        first_tool: Option<&str>,
    ) -> Result<(Arc<dyn Store>, Option<String>), Error> {
        let makes = match self {
            StoreChoice::Memory => return Ok((Arc::new(MemoryStore::new()), None)),
            StoreChoice::Given(store) => return Ok((store, None)),
            StoreChoice::Settings => true,
            StoreChoice::IfPresent => false,
        };
        let (mut files, memory) = (workspace.store_files()?, Memory::load(workspace, identity));
        let first = first_tool.and_then(|tool| workspace.snapshot().find_called(tool, |_| true));
        let time = first.map(|entry| Duration::from_millis(entry.contract.tool.timeout_ms));
        files.open_timeout = time.map_or(files.open_timeout, |time| files.open_timeout.min(time));
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
    /// The files in which Haft keeps the state of the workspace, wherever its settings place them: no
    /// program sees them, and no builtin tool writes them.
    pub(crate) fn state_files(&self) -> Vec<PathBuf> {
        let identity = self.settings().store.identity_file.as_ref();
        let mut state: Vec<PathBuf> =
            identity.map(|file| self.root().join(file)).into_iter().collect();
        let Ok(files) = self.store_files() else { return state };
        for beside in ["-wal", "-shm", "-journal"] {
            let mut name = files.db.clone().into_os_string();
            name.push(beside);
            state.push(name.into());
        }
        if let Some(folder) = files.db.parent() {
            state.extend(BESIDE_STORE.map(|name| folder.join(name)));
        }
        state.extend([files.db, files.payloads]);
        state
    }

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
