//! Encryption key of the store: loaded from the environment or from a private file.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use haft_model::{Code, Secret, Stop};
use haft_seal::Key;

use crate::vault::private;

/// Where the key is stored.
#[derive(Clone, Debug)]
pub struct KeyPlace {
    /// The key in hexadecimal, from the environment; takes precedence over the file.
    pub given: Option<Secret>,
    /// The key file; `None` where the home folder is unknown.
    pub file: Option<PathBuf>,
}

impl KeyPlace {
    /// Loads the key.
    pub(super) fn load(&self) -> Result<Key, Stop> {
        if let Some(given) = &self.given {
            return parsed(given);
        }
        let file = self.file()?;
        match private::read(file) {
            Ok(text) => parsed(&text),
            Err(fault) if fault.kind() == ErrorKind::NotFound => {
                let words = format!("the key of the secrets is not at `{}`", file.display());
                Err(Stop::new(Code::SetupRequired, words)
                    .help("bring back the key that they were closed with, or set HAFT_SECRETS_KEY"))
            }
            Err(fault) => Err(unusable(file, &fault)),
        }
    }

    /// Loads the key, or generates it where there is none yet.
    pub(super) fn load_or_make(&self) -> Result<Key, Stop> {
        if self.given.is_some() {
            return self.load();
        }
        let file = self.file()?;
        let made = || -> std::io::Result<()> {
            if let Some(folder) = file.parent() {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            haft_seal::load_or_make(file)?;
            haft_seal::sync_folder(file)
        };
        if !file.exists() {
            made().map_err(|fault| unusable(file, &fault))?;
        }
        self.load()
    }

    fn file(&self) -> Result<&Path, Stop> {
        let nowhere = || {
            let words = "the path of the secrets' key is unknown";
            Stop::new(Code::SetupRequired, words).help("set HOME or HAFT_SECRETS_KEY")
        };
        self.file.as_deref().ok_or_else(nowhere)
    }
}

fn parsed(text: &Secret) -> Result<Key, Stop> {
    let bytes = haft_seal::unhex(text.expose().trim());
    bytes.and_then(|bytes| Key::try_from(bytes).ok()).ok_or_else(|| {
        Stop::new(Code::SetupRequired, "the key of the secrets is not 64 hexadecimal digits")
            .help("bring back the key as it was written")
    })
}

fn unusable(file: &Path, fault: &std::io::Error) -> Stop {
    let words = format!("the key of the secrets at `{}` cannot be used: {fault}", file.display());
    Stop::new(Code::SetupRequired, words).help(format!("chmod 600 {}", file.display()))
}
