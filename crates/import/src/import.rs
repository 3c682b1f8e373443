//! What an import comes to: files, and everything that a person should look at.

use serde::Serialize;

use crate::manifest::fault;
use crate::schema::Loss;
use crate::secret::Secret;

/// Files that were made of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// What the import is called; ids begin with it.
    pub name: String,
    /// The files, from the workspace's root.
    pub files: Vec<File>,
    /// What the source did not say.
    pub guesses: Vec<Guess>,
    /// What was left out.
    pub skipped: Vec<SkippedPart>,
    /// The parts of schemas that the contracts do not keep.
    pub losses: Vec<SchemaLoss>,
    /// Secrets that have to be set before anything can be called.
    pub secrets: Vec<Secret>,
}

impl Import {
    /// The import, if its drivers and inventories can be read. Contracts were looked at one by one.
    pub(crate) fn sound(self) -> Result<Import, Error> {
        let shared = self.files.iter().filter(|file| !file.path.ends_with("/TOOL.md"));
        let fault = shared.map(|file| (file, fault(&file.path, &file.text)));
        let fault = fault.filter_map(|(file, fault)| Some((file.path.clone(), fault?))).next();
        match fault {
            Some((file, fault)) => Err(Error::Unsound { file, fault }),
            None => Ok(self),
        }
    }
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it lies, from the workspace's root.
    pub path: String,
    /// What it says.
    pub text: String,
}

/// Something that the source did not say and the import decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Guess {
    /// The file it stands in.
    pub file: String,
    /// The field.
    pub field: String,
    /// What was chosen.
    pub value: String,
    /// Why that.
    pub why: String,
    /// How to have it otherwise.
    pub change: String,
}

/// Something in the source of which nothing was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedPart {
    /// What it is called there.
    pub what: String,
    /// Why it was left out.
    pub why: String,
}

/// A part of a schema in the source that a contract does not keep, or not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SchemaLoss {
    /// The contract.
    pub file: String,
    /// `inputs` or `outputs`.
    pub field: &'static str,
    /// Where it stands in the source: a JSON pointer into the schema, or behind a `#` into the whole
    /// document.
    pub pointer: String,
    /// Why it is not kept.
    pub why: String,
}

/// Why a source cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("this cannot be read: {0}")]
    Unreadable(String),
    /// It is something else.
    #[error("this is not {wanted}: {found}")]
    NotThis {
        /// What was wanted.
        wanted: &'static str,
        /// What is there instead.
        found: String,
    },
    /// There is nothing in it.
    #[error("there is nothing to import: {0}")]
    Empty(String),
    /// What was made of it is wrong.
    #[error("`{file}` would not be right: {fault}")]
    Unsound {
        /// The file.
        file: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A name cannot be used.
    #[error("`{0}` cannot begin an id: use lowercase letters, digits and dashes")]
    BadName(String),
}

/// What was left out while an import is made.
#[derive(Debug, Default)]
pub(crate) struct Omissions(pub(crate) Vec<SkippedPart>);

/// What was decided while one file is made.
#[derive(Debug)]
pub(crate) struct Margin {
    /// The file.
    pub(crate) file: String,
    /// The decisions.
    pub(crate) guesses: Vec<Guess>,
    /// What of its schemas is not kept.
    pub(crate) losses: Vec<SchemaLoss>,
}

impl Margin {
    /// The empty margin of a file.
    pub(crate) fn new(file: &str) -> Margin {
        Margin { file: file.to_owned(), guesses: Vec::new(), losses: Vec::new() }
    }

    /// Notes what of a schema is not kept.
    pub(crate) fn lost(&mut self, field: &'static str, losses: Vec<Loss>) {
        let file = &self.file;
        self.losses.extend(losses.into_iter().map(|Loss { pointer, why }| SchemaLoss {
            file: file.clone(),
            field,
            pointer,
            why,
        }));
    }

    /// Notes a decision about a field.
    pub(crate) fn guess(&mut self, field: &str, value: &str, why: &str, change: &str) {
        self.guesses.push(Guess {
            file: self.file.clone(),
            field: field.to_owned(),
            value: value.to_owned(),
            why: why.to_owned(),
            change: change.to_owned(),
        });
    }
}

impl Omissions {
    /// Notes something that was left out.
    pub(crate) fn skip(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.0.push(SkippedPart { what: what.into(), why: why.into() });
    }
}
