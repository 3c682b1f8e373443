//! Errors of a workspace as a whole.

use std::path::PathBuf;

/// A fault of the disk or of the set-up; what is wrong with a manifest is a diagnostic instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing to load.
    #[error("`{folder}` is not a workspace: it has neither haft.toml nor .tools")]
    NoWorkspace {
        /// The folder that was searched.
        folder: PathBuf,
    },
    /// A folder cannot be read.
    #[error("cannot read `{path}`")]
    Unreadable {
        /// The path that cannot be read.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        cause: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write `{path}`")]
    Unwritable {
        /// The path that cannot be written.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        cause: std::io::Error,
    },
    /// A folder of published schemas is not one.
    #[error("`{folder}` holds no schema that can be read: {reason}")]
    NoSchemas {
        /// The folder that was searched.
        folder: PathBuf,
        /// Why the schemas cannot be used.
        reason: String,
    },
    /// A lock that cannot be read in full, and so cannot be written in part.
    #[error("haft.lock is damaged, and accepting one tool would drop what it says of others")]
    DamagedLock,
    /// The contract is invalid, so that no person can accept it.
    #[error("{reason}")]
    Invalid {
        /// The contract's first fault.
        reason: String,
    },
    /// The contract comes with the program and needs no acceptance.
    #[error("`{name}` comes with the program, and haft.lock has no say in it")]
    Given {
        /// The contract's name.
        name: String,
    },
    /// File watching is not available.
    #[error("files cannot be watched: {cause}")]
    Unwatched {
        /// The watcher's error.
        cause: String,
    },
    /// The URL of the store is not supported by this build.
    #[error("`{url}` is not a store that can be used: {reason}")]
    NoStore {
        /// The URL in haft.toml.
        url: String,
        /// Why the store cannot be used.
        reason: String,
    },
    /// The store is missing although this machine remembers one.
    #[error(
        "the store `{}` is missing, and this machine remembers one since {since}: what was done, and which keys were used, is not known without it",
        .db.display()
    )]
    StoreMissing {
        /// The database's path.
        db: PathBuf,
        /// Since when this machine knows it.
        since: haft_model::Timestamp,
    },
    /// The store is another one than this machine remembers.
    #[error(
        "the store `{}` is not the one that this machine remembers since {since}: what was done, and which keys were used, may be missing in it",
        .db.display()
    )]
    StoreReplaced {
        /// The database's path.
        db: PathBuf,
        /// Since when this machine knows the other one.
        since: haft_model::Timestamp,
    },
    /// The store to be given up still exists.
    #[error("the store `{}` is the one that was always here, so nothing is lost", .db.display())]
    StorePresent {
        /// The database's path.
        db: PathBuf,
    },
    /// An auditor requested a change.
    #[error("`{by}` is an auditor, who changes nothing")]
    Auditor {
        /// The auditor's id.
        by: haft_model::ActorId,
    },
    /// The memo of which store a workspace has is there, and cannot be read.
    #[error("`{}` should say which store the workspace has, and cannot be read: {reason}", file.display())]
    DamagedMemo {
        /// The memo's path.
        file: PathBuf,
        /// Why the memo cannot be read.
        reason: String,
    },
    /// Nothing remembers which store a workspace has.
    #[error("which store this is cannot be remembered: {reason}")]
    Unremembered {
        /// Why the memo cannot be kept.
        reason: String,
    },
    /// The ledger cannot be opened or written.
    #[error(transparent)]
    Ledger(#[from] haft_ledger::Error),
    /// The tool does not exist.
    #[error("there is no tool `{name}`")]
    NoTool {
        /// The requested name.
        name: String,
    },
}

impl Error {
    /// What to do about it, where a remedy is known.
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
            Error::StoreMissing { .. }
            | Error::StoreReplaced { .. }
            | Error::DamagedMemo { .. } => Some(
                "put a backup of the store back, or `haft store new --accept-loss` to begin a new one",
            ),
            Error::StorePresent { .. } => Some("move it away first, if it has to go"),
            Error::Auditor { .. } => Some("a person who runs the workspace may"),
            Error::Unremembered { .. } => {
                Some("set `XDG_STATE_HOME`, or `[store] identity_file` in haft.toml")
            }
            Error::Ledger(_) => Some("`haft audit verify` tells what is wrong with the store"),
            Error::Unreadable { .. }
            | Error::Unwritable { .. }
            | Error::NoSchemas { .. }
            | Error::Unwatched { .. } => None,
        }
    }
}
