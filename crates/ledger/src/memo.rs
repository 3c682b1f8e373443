//! Store memo: what a machine remembers of a store outside of it, so that a missing, replaced or
//! shortened store shows.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::str::FromStr;

use haft_model::{Timestamp, canonical};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A head of the log: the number and hash of its last entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHead {
    /// The number of the entry.
    pub seq: u64,
    /// Its hash, in hexadecimal.
    pub hash: String,
}

/// What a machine remembers of the store of one workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreMemo {
    /// The real path of the workspace.
    pub workspace: String,
    /// The identity of its store.
    pub store: String,
    /// When this machine first saw it.
    pub since: Timestamp,
    /// The furthest signed head that this machine saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<LogHead>,
    /// The fingerprints of the keys that may sign its log. The first is that of the process that
    /// remembered the store (trust on first use); a check with pinned keys adds others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

impl StoreMemo {
    /// Reads a memo; `None` where the file is missing.
    pub fn read(file: &Path) -> io::Result<Option<StoreMemo>> {
        match fs::read(file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(io::Error::other),
            Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Writes the memo; creates missing folders with owner-only permissions.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        if let Some(folder) = file.parent() {
            crate::sqlite::payloads::make_folder(folder)?;
        }
        haft_seal::replace(file, &canonical(self))
    }

    /// Adds keys that may sign; false where all of them are known.
    pub fn allow_keys(&mut self, keys: &[String]) -> bool {
        let before = self.keys.len();
        for key in keys {
            if !self.keys.contains(key) {
                self.keys.push(key.clone());
            }
        }
        self.keys.len() > before
    }

    /// Advances to a newer head; false where the remembered one is further.
    pub fn advance(&mut self, head: &LogHead) -> bool {
        let newer = self.head.as_ref().is_none_or(|known| known.seq < head.seq);
        if newer {
            self.head = Some(head.clone());
        }
        newer
    }
}

impl fmt::Display for LogHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl FromStr for LogHead {
    type Err = String;

    fn from_str(text: &str) -> Result<LogHead, String> {
        let wrong = || format!("`{text}` is no end of a log; write `NUMBER:HASH`");
        let (seq, hash) = text.split_once(':').ok_or_else(wrong)?;
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let seq = seq.parse().ok().filter(|_| is_hash).ok_or_else(wrong)?;
        Ok(LogHead { seq, hash: hash.to_ascii_lowercase() })
    }
}

impl Serialize for LogHead {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LogHead {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LogHead, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use haft_testkit::Folder;

    use super::*;

    #[test]
    fn memo_is_read_back_and_never_goes_backwards() {
        let folder = Folder::new();
        let file = folder.path().join("state/haft/one.json");
        assert_eq!(StoreMemo::read(&file).unwrap(), None);
        let head = |seq| LogHead { seq, hash: "ab".repeat(32) };
        let mut memo = StoreMemo {
            workspace: "/at/home".to_owned(),
            store: "0123".to_owned(),
            since: Timestamp::UNIX_EPOCH,
            head: None,
            keys: Vec::new(),
        };
        assert!(memo.allow_keys(&["aa".to_owned()]) && !memo.allow_keys(&["aa".to_owned()]));
        assert!(memo.advance(&head(7)) && !memo.advance(&head(6)) && !memo.advance(&head(7)));
        memo.write(&file).unwrap();
        assert_eq!(StoreMemo::read(&file).unwrap(), Some(memo));
        fs::write(&file, "{").unwrap();
        assert!(StoreMemo::read(&file).is_err());
    }

    #[test]
    fn head_is_written_as_it_is_read() {
        let text = format!("12:{}", "0f".repeat(32));
        assert_eq!(text.parse::<LogHead>().unwrap().to_string(), text);
        for wrong in ["", "12", "12:", "12:0f", ":0f", &format!("x:{}", "0f".repeat(32))] {
            assert!(wrong.parse::<LogHead>().is_err(), "{wrong}");
        }
    }
}
