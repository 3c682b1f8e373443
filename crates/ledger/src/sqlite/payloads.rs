//! Payload storage: small payloads in the row of their entry, large ones in files named by digest.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use haft_model::{Digest, InvocationId};
use haft_seal::Seal;
use rusqlite::Connection;

use super::lists;
use crate::{Blob, Error};

/// The name of the key file.
pub(crate) const SEAL: &str = "seal.key";

/// Bytes as they lie on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredBytes {
    pub(crate) digest: Digest,
    pub(crate) sealed: bool,
    pub(crate) bytes: Vec<u8>,
}

impl StoredBytes {
    /// A blob as it will lie on disk, encrypted if a seal is given.
    pub(crate) fn of(blob: Blob, seal: Option<&Seal>) -> Result<StoredBytes, Error> {
        let Blob { digest, bytes, .. } = blob;
        let large = || Error::Unwritable { cause: "a payload is too large to seal".to_owned() };
        let bytes = match seal {
            Some(seal) => seal.close(&digest, &bytes).ok_or_else(large)?,
            None => bytes,
        };
        Ok(StoredBytes { digest, sealed: seal.is_some(), bytes })
    }

    /// The original bytes; `None` when they do not match their digest.
    pub(crate) fn opened(self, seal: Option<&Seal>) -> Option<Vec<u8>> {
        let bytes = if self.sealed { seal?.open(&self.digest, &self.bytes)? } else { self.bytes };
        (Digest::of_bytes(&bytes) == self.digest).then_some(bytes)
    }
}

/// Packs the inline payloads of a row: for each its kind, the length of its digest, the digest, the
/// number of its bytes, and the bytes.
pub(crate) fn pack(all: &[StoredBytes]) -> Option<Vec<u8>> {
    let mut packed = Vec::new();
    for stored in all {
        let digest = stored.digest.as_str().as_bytes();
        packed.push(u8::from(stored.sealed));
        packed.push(u8::try_from(digest.len()).ok()?);
        packed.extend_from_slice(digest);
        packed.extend_from_slice(&u32::try_from(stored.bytes.len()).ok()?.to_be_bytes());
        packed.extend_from_slice(&stored.bytes);
    }
    (!packed.is_empty()).then_some(packed)
}

/// Unpacks a row; `None` when it is damaged.
pub(crate) fn unpack(mut packed: &[u8]) -> Option<Vec<StoredBytes>> {
    let mut all = Vec::new();
    while let Some((kind, rest)) = packed.split_first() {
        let (length, rest) = rest.split_first()?;
        let (digest, rest) = rest.split_at_checked(usize::from(*length))?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let (bytes, rest) = rest.split_at_checked(u32::from_be_bytes(*size) as usize)?;
        packed = rest;
        all.push(StoredBytes {
            digest: Digest::from(std::str::from_utf8(digest).ok()?),
            sealed: match kind {
                0 => false,
                1 => true,
                _ => return None,
            },
            bytes: bytes.to_vec(),
        });
    }
    Some(all)
}

/// The folder of payload files.
#[derive(Clone, Debug)]
pub(crate) struct PayloadFolder {
    folder: PathBuf,
}

impl PayloadFolder {
    /// The files of a folder.
    pub(crate) fn new(folder: &Path) -> PayloadFolder {
        PayloadFolder { folder: folder.to_owned() }
    }

    /// Path of a payload; `None` for a malformed digest.
    pub(crate) fn path(&self, digest: &Digest, sealed: bool) -> Option<PathBuf> {
        let hex = digest.as_str().strip_prefix("sha256:")?;
        let plain = hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let first = hex.get(..2).filter(|_| plain)?;
        let ending = if sealed { ".sealed" } else { "" };
        Some(self.folder.join(first).join(format!("{hex}{ending}")))
    }

    /// Writes a payload atomically: under its name only once it is complete.
    pub(crate) fn write(&self, stored: &StoredBytes) -> Result<(), Error> {
        let failed = |fault: io::Error| Error::Unwritable { cause: fault.to_string() };
        let path = self.path(&stored.digest, stored.sealed);
        let path = path.ok_or_else(|| failed(ErrorKind::InvalidInput.into()))?;
        let parent = path.parent().unwrap_or(&self.folder);
        if !parent.is_dir() {
            make_folder(parent).map_err(failed)?;
        }
        if !path.is_file() {
            haft_seal::replace(&path, &stored.bytes).map_err(failed)?;
        }
        sync(parent).map_err(failed)
    }

    /// Whether the file exists.
    pub(crate) fn has(&self, digest: &Digest, sealed: bool) -> bool {
        self.path(digest, sealed).is_some_and(|path| path.is_file())
    }

    /// Reads a payload; `None` when the file is missing.
    pub(crate) fn read(&self, digest: &Digest, sealed: bool) -> io::Result<Option<StoredBytes>> {
        let Some(path) = self.path(digest, sealed) else { return Ok(None) };
        match fs::read(path) {
            Ok(bytes) => Ok(Some(StoredBytes { digest: digest.clone(), sealed, bytes })),
            Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Deletes a file; a missing one is fine.
    pub(crate) fn remove(&self, digest: &Digest, sealed: bool) -> io::Result<()> {
        let Some(path) = self.path(digest, sealed) else { return Ok(()) };
        match fs::remove_file(path) {
            Err(fault) if fault.kind() != ErrorKind::NotFound => Err(fault),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// The payload of an entry of an invocation, from its row or its file.
pub(crate) fn find(
    db: &Connection,
    files: &PayloadFolder,
    id: &InvocationId,
    digest: &Digest,
) -> rusqlite::Result<Option<StoredBytes>> {
    for (seq, packed) in lists::packed(db, id)? {
        let all = unpack(&packed);
        let all = all.ok_or_else(|| fault(format!("the payloads of entry {seq} are damaged")))?;
        if let Some(stored) = all.into_iter().find(|stored| stored.digest == *digest) {
            return Ok(Some(stored));
        }
    }
    let Some(sealed) = lists::in_file(db, id, digest)? else { return Ok(None) };
    let stored = files.read(digest, sealed).map_err(|cause| fault(cause.to_string()))?;
    let gone = || fault(format!("the file of the payload `{digest}` is gone"));
    stored.ok_or_else(gone).map(Some)
}

/// A fault that is not SQLite's own.
pub(crate) fn fault(what: String) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(what.into())
}

/// Creates a folder with owner-only permissions, and syncs it.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    match folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => sync(parent),
        None => Ok(()),
    }
}

/// Syncs the names in a folder.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_pack_roundtrips_and_rejects_damage() {
        let stored = |text: &str, sealed| StoredBytes {
            digest: Digest::of_bytes(text.as_bytes()),
            sealed,
            bytes: text.as_bytes().to_vec(),
        };
        let all = [stored("one", false), stored("", true), stored("three", false)];
        let packed = pack(&all).unwrap();
        assert_eq!(unpack(&packed), Some(all.to_vec()));
        assert_eq!(unpack(&packed[..packed.len() - 1]), None);
        assert_eq!(unpack(&[7; 9]), None);
        assert_eq!(pack(&[]), None);
    }

    #[test]
    fn malformed_digest_never_escapes_payload_folder() {
        let files = PayloadFolder::new(Path::new("payloads"));
        for digest in ["sha256:../../etc/passwd", "../x", "sha256:", "md5:00"] {
            assert_eq!(files.path(&Digest::from(digest), false), None, "{digest}");
        }
    }
}
