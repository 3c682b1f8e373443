//! Payload placement: decides where the bytes of a draft go, and reads them back.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use haft_model::{Digest, InvocationId};
use haft_seal::Seal;
use rusqlite::Connection;

use super::SqliteOptions;
use super::payloads::{PayloadFolder, SEAL, StoredBytes, fault, find, pack};
use super::task::Ready;
use crate::draft::checked;
use crate::{Draft, Error};

/// The folders, and the key once it is loaded.
#[derive(Clone, Debug)]
pub(crate) struct Placing {
    folder: PathBuf,
    files: PayloadFolder,
    inline: usize,
    seal: Arc<OnceLock<Seal>>,
}

impl Placing {
    /// The placement of a store.
    pub(crate) fn new(options: &SqliteOptions) -> Placing {
        Placing {
            folder: options.folder(),
            files: PayloadFolder::new(&options.payloads),
            inline: options.inline,
            seal: Arc::default(),
        }
    }

    /// Whether preparing a draft is cheap: hashing, sealing and writing large payloads is not.
    pub(crate) fn is_quick(&self, draft: &Draft) -> bool {
        draft.blobs.iter().all(|blob| blob.bytes.len() <= self.inline)
    }

    /// Prepares a draft as far as possible without the database, including large payloads on disk.
    pub(crate) fn ready(&self, mut draft: Draft) -> Result<Ready, Error> {
        checked(&mut draft)?;
        let mut ready = Ready::new(&mut draft)?;
        ready.guards = draft.guards;
        let mut small = Vec::new();
        for blob in draft.blobs {
            let fits = blob.bytes.len() <= self.inline;
            let seal = if blob.sensitive { Some(self.seal()?) } else { None };
            let stored = StoredBytes::of(blob, seal)?;
            if fits {
                small.push(stored);
            } else {
                self.files.write(&stored)?;
                ready.files.push((stored.digest, stored.sealed));
            }
        }
        ready.packed = pack(&small);
        Ok(ready)
    }

    /// Loads the key that a draft needs: a disk that cannot store one now may do so later.
    pub(crate) fn has_keys_for(&self, draft: &Draft) -> Result<(), Error> {
        match draft.blobs.iter().any(|blob| blob.sensitive) {
            true => self.seal().map(|_seal| ()),
            false => Ok(()),
        }
    }

    /// The payload of an entry of an invocation, decrypted.
    pub(crate) fn read(
        &self,
        db: &Connection,
        id: &InvocationId,
        digest: &Digest,
    ) -> rusqlite::Result<Option<Vec<u8>>> {
        let Some(stored) = find(db, &self.files, id, digest)? else { return Ok(None) };
        // A newly created key opens nothing that was sealed before.
        if stored.sealed
            && self.seal.get().is_none()
            && let Ok(seal) = Seal::load(&self.folder.join(SEAL))
        {
            drop(self.seal.set(seal));
        }
        let changed = || fault(format!("the payload `{digest}` is not what was stored"));
        stored.opened(self.seal.get()).ok_or_else(changed).map(Some)
    }

    /// The seal; creates its key on first use.
    fn seal(&self) -> Result<&Seal, Error> {
        if let Some(seal) = self.seal.get() {
            return Ok(seal);
        }
        let seal = Seal::load_or_make(&self.folder.join(SEAL)).map_err(|fault| {
            Error::Unwritable { cause: format!("no key to seal with: {fault}") }
        })?;
        Ok(self.seal.get_or_init(|| seal))
    }
}
