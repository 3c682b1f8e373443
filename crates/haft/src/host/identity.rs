//! Store identity: remembers outside of the workspace which store it has, so that a missing one is
//! not new.

use std::path::{Path, PathBuf};

use haft_ledger::{Draft, LogHead, Pins, SqliteStore, Store as _, StoreMemo, Wait};
use haft_model::{Actor, Digest, Event, Fact, Note, Timestamp};

use super::vault::variable;
use crate::{Error, Workspace};

/// Where the identity of a workspace's store is remembered.
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
    /// The memo of the store before.
    pub lost: Option<StoreMemo>,
}

/// The memo of one workspace's store, and the file it lies in.
pub(crate) struct Memory {
    workspace: PathBuf,
    /// The file, or why there is none that could be read or made.
    file: Result<PathBuf, String>,
    memo: Memo,
    off: bool,
}

/// The memo of a store, as its file has it.
enum Memo {
    /// There is no such file, or no folder that could hold it.
    Absent,
    /// It names a store.
    Known(StoreMemo),
    /// Something lies in its place that cannot be read.
    Damaged(String),
}

impl Memory {
    /// Looks up what is remembered of a workspace.
    pub(crate) fn load(workspace: &Workspace, identity: &IdentityFile) -> Memory {
        let root = workspace.root().canonicalize().unwrap_or_else(|_| workspace.root().to_owned());
        let off = *identity == IdentityFile::Off;
        let (file, memo) = match place(workspace, identity, &root) {
            Err(why) => (Err(why), Memo::Absent),
            Ok(file) => match (StoreMemo::read(&file), file.symlink_metadata()) {
                (Ok(Some(memo)), _) => (Ok(file), Memo::Known(memo)),
                (Ok(None), Err(_)) => (Ok(file), Memo::Absent),
                (Ok(None), Ok(_)) => (Ok(file), Memo::Damaged("it leads nowhere".to_owned())),
                (Err(fault), Ok(_)) => (Ok(file), Memo::Damaged(fault.to_string())),
                // Not even its name can be looked up: the folder cannot be used.
                (Err(fault), Err(_)) => {
                    (Err(format!("`{}` cannot be read: {fault}", file.display())), Memo::Absent)
                }
            },
        };
        Memory { workspace: root, file, memo, off }
    }

    fn memo(&self) -> Option<&StoreMemo> {
        match &self.memo {
            Memo::Known(memo) => Some(memo),
            Memo::Absent | Memo::Damaged(_) => None,
        }
    }

    /// Fails closed: a memo that is there and cannot be read may be that of a store.
    fn readable(&self) -> Result<(), Error> {
        match (&self.memo, &self.file) {
            (Memo::Damaged(reason), Ok(file)) => {
                Err(Error::DamagedMemo { file: file.clone(), reason: reason.clone() })
            }
            (Memo::Damaged(_) | Memo::Absent | Memo::Known(_), _) => Ok(()),
        }
    }

    /// Refuses to make a store where there was one, or may have been one.
    pub(crate) fn may_be_new(&self, db: &Path) -> Result<(), Error> {
        self.readable()?;
        match self.memo() {
            None => Ok(()),
            Some(memo) => Err(Error::StoreMissing { db: db.to_owned(), since: memo.since }),
        }
    }

    /// Refuses another store than the one that was there; remembers one of which nothing is known.
    /// Gives why it cannot be remembered, where it cannot.
    pub(crate) fn recognise(self, store: &SqliteStore) -> Result<Option<String>, Error> {
        self.readable()?;
        let unremembered = match self.memo() {
            Some(memo) if memo.store != store.identity() => {
                let db = store.options().db.clone();
                return Err(Error::StoreReplaced { db, since: memo.since });
            }
            // A memo from before keys were remembered.
            Some(memo) if memo.keys.is_empty() => {
                let keys = vec![store.key().to_owned()];
                self.write(&StoreMemo { keys, ..memo.clone() }).err()
            }
            Some(_) => None,
            None if self.off => None,
            None => self.remember(store, None).err(),
        };
        if let Ok(file) = self.file {
            store.remember_in(file);
        }
        Ok(unremembered)
    }

    /// Remembers a store, with an end of its log where one was seen.
    fn remember(&self, store: &SqliteStore, head: Option<LogHead>) -> Result<(), String> {
        let same = self.memo().filter(|memo| memo.store == store.identity());
        let mut memo = StoreMemo {
            workspace: self.workspace.display().to_string(),
            store: store.identity().to_owned(),
            since: Timestamp::now(),
            head,
            keys: same.map(|memo| memo.keys.clone()).unwrap_or_default(),
        };
        memo.allow_keys(&[store.key().to_owned()]);
        self.write(&memo)
    }

    fn write(&self, memo: &StoreMemo) -> Result<(), String> {
        let file = self.file.as_ref().map_err(Clone::clone)?;
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
            false => Memory::load(self, identity).may_be_new(&files.db),
        }
    }

    /// The pins of its store that this machine remembers, against which a check verifies the log.
    pub fn store_pins(&self, identity: &IdentityFile) -> Result<Pins, Error> {
        let memory = Memory::load(self, identity);
        memory.readable()?;
        Ok(memory.memo().map(Pins::remembered).unwrap_or_default())
    }

    /// Remembers an end of its log that was checked, and the keys that signed it. An end that is behind
    /// what was seen before changes nothing.
    pub fn remember_head(
        &self,
        identity: &IdentityFile,
        head: &LogHead,
        keys: &[String],
    ) -> Result<(), Error> {
        let memory = Memory::load(self, identity);
        let (Ok(file), Some(memo)) = (&memory.file, memory.memo()) else { return Ok(()) };
        let mut memo = memo.clone();
        let (advanced, allowed) = (memo.advance(head), memo.allow_keys(keys));
        match advanced || allowed {
            true => {
                memo.write(file).map_err(|cause| Error::Unwritable { path: file.clone(), cause })
            }
            false => Ok(()),
        }
    }

    /// Opens its store alone, without a runtime; where this machine remembers another one, or none
    /// although there was one, that is refused.
    pub fn open_store(&self, identity: &IdentityFile) -> Result<SqliteStore, Error> {
        self.store_is_not_missing(identity)?;
        let store = SqliteStore::open(self.store_files()?)?;
        Memory::load(self, identity).recognise(&store)?;
        Ok(store)
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
        let memory = Memory::load(self, identity);
        let files = self.store_files()?;
        let lost = memory.memo().cloned();
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
        let remembered = memory.remember(&store, head);
        store.close().await?;
        remembered.map_err(|reason| Error::Unremembered { reason })?;
        Ok(StoreRenewal { store: name, lost })
    }
}
