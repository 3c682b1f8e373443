//! Which store a workspace has, remembered outside of the workspace: a missing store is not a new one.

use std::path::{Path, PathBuf};

use haft_ledger::{Draft, LogHead, Pins, SqliteStore, Store as _, StoreMemo, Wait};
use haft_model::{Actor, Digest, Event, Fact, Note, Timestamp};

use super::vault::variable;
use crate::{Error, Workspace};

/// Where it is remembered which store a workspace has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IdentityFile {
    /// The file that haft.toml names under `[store] identity_file`; where it names none, one for each
    /// workspace in `$XDG_STATE_HOME/haft`, or `~/.local/state/haft`.
    #[default]
    Settings,
    /// One file for each workspace, in this folder.
    Folder(PathBuf),
    /// Nowhere. A store that was deleted is taken for a new one.
    Off,
}

/// A store that was taken for the one of a workspace, by a person who gave the one before up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreRenewal {
    /// The identity of the store that there is now.
    pub store: String,
    /// What was remembered of the one before.
    pub lost: Option<StoreMemo>,
}

/// What is remembered of the store of one workspace.
pub(crate) struct Memory {
    workspace: PathBuf,
    /// The file, or why there is none.
    file: Result<PathBuf, String>,
    memo: Option<StoreMemo>,
    off: bool,
}

impl Memory {
    /// Looks up what is remembered of a workspace. Nothing that cannot be read stands in the way.
    pub(crate) fn of(workspace: &Workspace, identity: &IdentityFile) -> Memory {
        let root = workspace.root().canonicalize().unwrap_or_else(|_| workspace.root().to_owned());
        let file = place(workspace, identity, &root);
        let read = file.and_then(|file| match StoreMemo::read(&file) {
            Ok(memo) => Ok((file, memo)),
            Err(fault) => Err(format!("`{}` cannot be read: {fault}", file.display())),
        });
        let (file, memo) = match read {
            Ok((file, memo)) => (Ok(file), memo),
            Err(why) => (Err(why), None),
        };
        Memory { workspace: root, file, memo, off: *identity == IdentityFile::Off }
    }

    /// Refuses to make a store where there was one.
    pub(crate) fn may_be_new(&self, db: &Path) -> Result<(), Error> {
        match &self.memo {
            None => Ok(()),
            Some(memo) => Err(Error::StoreMissing { db: db.to_owned(), since: memo.since }),
        }
    }

    /// Refuses another store than the one that was there; remembers one of which nothing is known.
    /// Gives why it cannot be remembered, where it cannot.
    pub(crate) fn recognise(self, store: &SqliteStore) -> Result<Option<String>, Error> {
        match &self.memo {
            Some(memo) if memo.store != store.identity() => {
                let db = store.options().db.clone();
                Err(Error::StoreReplaced { db, since: memo.since })
            }
            Some(_) => Ok(None),
            None if self.off => Ok(None),
            None => Ok(self.remember(store.identity(), None).err()),
        }
    }

    /// Remembers a store, with an end of its log where one was seen.
    fn remember(&self, store: &str, head: Option<LogHead>) -> Result<(), String> {
        let file = self.file.as_ref().map_err(Clone::clone)?;
        let memo = StoreMemo {
            workspace: self.workspace.display().to_string(),
            store: store.to_owned(),
            since: Timestamp::now(),
            head,
        };
        memo.write(file).map_err(|fault| format!("`{}`: {fault}", file.display()))
    }
}

/// The file of a workspace.
fn place(workspace: &Workspace, identity: &IdentityFile, root: &Path) -> Result<PathBuf, String> {
    let folder = match identity {
        IdentityFile::Off => return Err("it is switched off".to_owned()),
        IdentityFile::Folder(folder) => folder.clone(),
        IdentityFile::Settings => {
            if let Some(file) = &workspace.settings().store.identity_file {
                return Ok(root.join(file));
            }
            let named = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
            let state =
                named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local/state")));
            state.ok_or("neither `XDG_STATE_HOME` nor `HOME` is set")?.join("haft")
        }
    };
    let digest = Digest::of_bytes(root.as_os_str().as_encoded_bytes());
    let name: String = digest.as_str().trim_start_matches("sha256:").chars().take(32).collect();
    Ok(folder.join("stores").join(format!("{name}.json")))
}

impl Workspace {
    /// Refuses where there is no store and this machine remembers one.
    pub fn store_is_not_missing(&self, identity: &IdentityFile) -> Result<(), Error> {
        let files = self.store_files()?;
        match files.db.is_file() {
            true => Ok(()),
            false => Memory::of(self, identity).may_be_new(&files.db),
        }
    }

    /// What this machine remembers of its store, for a check of the log to be held against.
    pub fn store_pins(&self, identity: &IdentityFile) -> Pins {
        Memory::of(self, identity).memo.as_ref().map(Pins::remembered).unwrap_or_default()
    }

    /// Remembers an end of its log that was checked. One that is behind what was seen before changes
    /// nothing.
    pub fn remember_head(&self, identity: &IdentityFile, head: &LogHead) -> Result<(), Error> {
        let Memory { file: Ok(file), memo: Some(mut memo), .. } = Memory::of(self, identity) else {
            return Ok(());
        };
        match memo.advance(head) {
            true => memo.write(&file).map_err(|cause| Error::Unwritable { path: file, cause }),
            false => Ok(()),
        }
    }

    /// Takes the store that there is, or a new one, for the store of the workspace from now on, although
    /// another one or a longer one was there. Who accepted that is on record in it.
    pub async fn renew_store(
        &self,
        identity: &IdentityFile,
        by: &Actor,
    ) -> Result<StoreRenewal, Error> {
        if !by.may_change() {
            return Err(Error::Auditor { by: by.id.clone() });
        }
        let memory = Memory::of(self, identity);
        let files = self.store_files()?;
        let lost = memory.memo.clone();
        let store = SqliteStore::open(files.clone())?;
        let head = store.signed_head().await?;
        if let Some(memo) = &lost {
            let found = haft_ledger::verify_store_against(&files, &Pins::remembered(memo));
            let gone = ["store.replaced", "chain.rolled_back"];
            if !found.findings.iter().any(|finding| gone.contains(&finding.code)) {
                return Err(Error::StorePresent { db: files.db });
            }
        }
        let before = match &lost {
            Some(memo) => {
                let head = memo.head.as_ref().map(|head| format!(", last seen at {head}"));
                format!("the store `{}`{}", memo.store, head.unwrap_or_default())
            }
            None => "any store before".to_owned(),
        };
        let note = Note { text: format!("{before}, is given up: {} accepts the loss", by.id) };
        let event = Event::Note(note);
        let facts = vec![Fact { at: Timestamp::now(), phases: Vec::new(), event }];
        let draft = Draft { actor: Some(by.clone()), facts, ..Draft::default() };
        store.append(draft, Wait::Disk).await?;
        store.flush().await?;
        let name = store.identity().to_owned();
        let remembered = memory.remember(&name, head);
        store.close().await?;
        remembered.map_err(|reason| Error::Unremembered { reason })?;
        Ok(StoreRenewal { store: name, lost })
    }
}
