//! Shared JSON file: a file of `.haft` that several processes read and change under a lock.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

/// One JSON file, written whole, by one writer at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonFile {
    path: PathBuf,
}

impl JsonFile {
    pub(crate) fn new(path: PathBuf) -> JsonFile {
        JsonFile { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads its content; the default value where the file does not exist.
    pub(crate) fn read<T: DeserializeOwned + Default>(&self) -> Result<T, Error> {
        let unreadable = |cause: io::Error| Error::Unreadable { path: self.path.clone(), cause };
        match fs::read(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|fault| unreadable(fault.into())),
            Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(T::default()),
            Err(fault) => Err(unreadable(fault)),
        }
    }

    /// Applies a change to the current content, whichever process wrote it, and returns the new
    /// content.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut T)) -> Result<T, Error>
    where
        T: Serialize + DeserializeOwned + Default,
    {
        let unwritable = |cause: io::Error| Error::Unwritable { path: self.path.clone(), cause };
        let _lock = self.locked().map_err(unwritable)?;
        let mut held: T = self.read()?;
        change(&mut held);
        let text = serde_json::to_vec_pretty(&held).map_err(|fault| unwritable(fault.into()))?;
        let beside = self.path.with_extension("json.new");
        let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, &self.path));
        written.map_err(unwritable)?;
        Ok(held)
    }

    fn locked(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let path = self.path.with_extension("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        lock.lock()?;
        Ok(lock)
    }
}

/// The identity of a file's content by its metadata; `None` where there is no file.
pub(crate) type Stamp = Option<(u64, i64, i64, u64)>;

/// The stamp of a file as it lies there now.
pub(crate) fn stamp(path: &Path) -> Stamp {
    let about = fs::metadata(path).ok()?;
    Some((about.ino(), about.mtime(), about.mtime_nsec(), about.len()))
}

/// A file that is read again only when another lies there.
pub(crate) struct Fresh<T> {
    path: PathBuf,
    seen: Mutex<Option<(Stamp, Arc<T>)>>,
}

impl<T: Default> Fresh<T> {
    pub(crate) fn new(path: PathBuf) -> Fresh<T> {
        Fresh { path, seen: Mutex::default() }
    }

    /// The parsed file as it is now; one that cannot be read gives the default.
    pub(crate) fn get<F>(&self, read: impl FnOnce(&Path) -> Result<T, F>) -> Arc<T> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamp(&self.path);
        if let Some((then, known)) = &*seen
            && *then == now
        {
            return known.clone();
        }
        let known = Arc::new(read(&self.path).unwrap_or_default());
        *seen = Some((now, known.clone()));
        known
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    use haft_testkit::Folder;

    use super::*;

    #[test]
    fn concurrent_changes_to_json_file_lose_no_update() {
        let folder = Folder::new();
        let kept = JsonFile::new(folder.path().join(".haft/it.json"));
        std::thread::scope(|scope| {
            for writer in 0..8_u32 {
                let kept = &kept;
                scope.spawn(move || {
                    let add = |held: &mut BTreeMap<String, u32>| {
                        held.insert(writer.to_string(), writer);
                    };
                    kept.change(add).unwrap();
                });
            }
        });
        assert_eq!(kept.read::<BTreeMap<String, u32>>().unwrap().len(), 8);
    }

    #[test]
    fn cached_file_is_reread_only_when_it_changes() {
        let folder = Folder::new().file("a", "one");
        let path = folder.path().join("a");
        let fresh = Fresh::new(path.clone());
        let reads = Mutex::new(0);
        let look = || {
            let read = |path: &Path| {
                *reads.lock().unwrap() += 1;
                fs::read_to_string(path)
            };
            (*fresh.get(read)).clone()
        };
        assert_eq!([look(), look()], ["one", "one"]);
        assert_eq!(*reads.lock().unwrap(), 1);
        fs::write(folder.path().join("b"), "two").unwrap();
        fs::rename(folder.path().join("b"), &path).unwrap();
        assert_eq!([look(), look()], ["two", "two"]);
        fs::remove_file(&path).unwrap();
        let gone = fresh.get(|_| Ok::<_, Infallible>("gone".to_owned()));
        assert_eq!(*gone, "gone");
        assert_eq!(*reads.lock().unwrap(), 2);
    }
}
