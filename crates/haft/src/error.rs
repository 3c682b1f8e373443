//! What can go wrong with a workspace as a whole.

use std::path::PathBuf;

/// A fault of the disk or of the set-up; what is wrong with a manifest is a diagnostic instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing to load.
    #[error("`{folder}` is not a workspace: it has neither haft.toml nor .tools")]
    NoWorkspace {
        /// Where we looked.
        folder: PathBuf,
    },
    /// A folder cannot be read.
    #[error("cannot read `{path}`")]
    Unreadable {
        /// What.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write `{path}`")]
    Unwritable {
        /// What.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// A folder of published schemas is not one.
    #[error("`{folder}` holds no schema that can be read: {reason}")]
    NoSchemas {
        /// Where we looked.
        folder: PathBuf,
        /// Why.
        reason: String,
    },
    /// A lock that cannot be read in full, and so cannot be written in part.
    #[error("haft.lock is damaged, and accepting one tool would drop what it says of others")]
    DamagedLock,
    /// A contract that nobody can accept.
    #[error("{reason}")]
    Invalid {
        /// What is wrong with it.
        reason: String,
    },
    /// A contract that nobody has to accept.
    #[error("`{name}` comes with the program, and haft.lock has no say in it")]
    Given {
        /// Which.
        name: String,
    },
    /// Nobody tells when files change.
    #[error("files cannot be watched: {cause}")]
    Unwatched {
        /// Why.
        cause: String,
    },
    /// A place to keep facts that this build does not know.
    #[error("`{url}` is not a store that can be used: {reason}")]
    NoStore {
        /// What haft.toml says.
        url: String,
        /// Why not.
        reason: String,
    },
    /// The ledger cannot be opened or written.
    #[error(transparent)]
    Ledger(#[from] haft_ledger::Error),
    /// A tool that is not there.
    #[error("there is no tool `{name}`")]
    NoTool {
        /// What was asked for.
        name: String,
    },
}

impl Error {
    /// What to do about it, where we know.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Error::NoWorkspace { .. } => {
                Some("`haft init` makes one; `-C DIR` names another folder")
            }
            Error::NoTool { .. } => Some("`haft tools` lists those that there are"),
            Error::DamagedLock => Some(
                "restore haft.lock from git, or `haft accept --all` after looking at every tool",
            ),
            Error::Given { .. } => {
                Some("write a TOOL.md of the same id to have a contract of your own")
            }
            Error::Invalid { .. } => Some("mend the contract first; `haft check` shows where"),
            Error::NoStore { .. } => Some("write `url = \"sqlite:.haft/haft.db\"` under [store]"),
            Error::Ledger(_) => Some("`haft audit verify` tells what is wrong with the store"),
            Error::Unreadable { .. }
            | Error::Unwritable { .. }
            | Error::NoSchemas { .. }
            | Error::Unwatched { .. } => None,
        }
    }
}
