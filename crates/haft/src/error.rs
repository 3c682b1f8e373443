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
    /// A store was here, and is gone.
    #[error(
        "the store `{}` is missing, and this machine remembers one since {since}: what was done, and which keys were used, is not known without it",
        .db.display()
    )]
    StoreMissing {
        /// Where it was.
        db: PathBuf,
        /// Since when it was known.
        since: haft_model::Timestamp,
    },
    /// Another store was here.
    #[error(
        "the store `{}` is not the one that this machine remembers since {since}: what was done, and which keys were used, may be missing in it",
        .db.display()
    )]
    StoreReplaced {
        /// Where it lies.
        db: PathBuf,
        /// Since when the other one was known.
        since: haft_model::Timestamp,
    },
    /// The store that is to be given up is there.
    #[error("the store `{}` is the one that was always here, so nothing is lost", .db.display())]
    StorePresent {
        /// Where it lies.
        db: PathBuf,
    },
    /// An auditor asked for a change.
    #[error("`{by}` is an auditor, who changes nothing")]
    Auditor {
        /// The auditor.
        by: haft_model::ActorId,
    },
    /// The memo of which store a workspace has is there, and cannot be read.
    #[error("`{}` should say which store the workspace has, and cannot be read: {reason}", file.display())]
    DamagedMemo {
        /// The memo.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing remembers which store a workspace has.
    #[error("which store this is cannot be remembered: {reason}")]
    Unremembered {
        /// Why.
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
