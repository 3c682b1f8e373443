//! Import result: files, guesses, skipped parts, schema losses and secrets for a person to review.

use serde::Serialize;

use crate::manifest::fault;
use crate::schema::Loss;
use crate::secret::Secret;
use crate::text;

/// Files that were made of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The name of the import, which prefixes its ids.
    pub name: String,
    /// The files, from the workspace's root.
    pub files: Vec<File>,
    /// Values that the source did not state and the import chose.
    pub guesses: Vec<Guess>,
    /// Parts of the source that were skipped.
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

/// One file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The path from the workspace's root.
    pub path: String,
    /// The text of the file.
    pub text: String,
}

/// Something that the source did not say and the import decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Guess {
    /// The file it stands in.
    pub file: String,
    /// The field that was guessed.
    pub field: String,
    /// The chosen value.
    pub value: String,
    /// The reason for the value.
    pub why: String,
    /// How to choose another value.
    pub change: String,
}

/// A part of the source that the import skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedPart {
    /// Its name in the source.
    pub what: String,
    /// Why it was skipped.
    pub why: String,
}

/// A part of a schema in the source that a contract does not keep, or not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SchemaLoss {
    /// The contract's file.
    pub file: String,
    /// `inputs` or `outputs`.
    pub field: &'static str,
    /// The position in the source: a JSON pointer into the schema, or behind a `#` into the whole
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
    /// The source is of another kind.
    #[error("this is not {wanted}: {found}")]
    NotThis {
        /// The expected kind.
        wanted: &'static str,
        /// The kind that was found.
        found: String,
    },
    /// The source holds nothing to import.
    #[error("there is nothing to import: {0}")]
    Empty(String),
    /// The import produced an invalid file.
    #[error("`{file}` would not be right: {fault}")]
    Unsound {
        /// The invalid file's path.
        file: String,
        /// The first fault of the file.
        fault: String,
    },
    /// The name is not usable as a prefix of ids.
    #[error("`{0}` cannot begin an id: use lowercase letters, digits and dashes")]
    BadName(String),
}

/// The parts that an import has skipped so far.
#[derive(Debug, Default)]
pub(crate) struct Omissions(pub(crate) Vec<SkippedPart>);

/// The guesses and losses of one file so far.
#[derive(Debug)]
pub(crate) struct Margin {
    /// The file.
    pub(crate) file: String,
    /// The decisions.
    pub(crate) guesses: Vec<Guess>,
    /// The schema parts that are not kept.
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

    /// Notes the references that lead nowhere, and a schema of which parts are types alone.
    pub(crate) fn hollow(&mut self, field: &str, lost: &[String], is_cut: bool) {
        let change = "edit the contract";
        for target in lost {
            let why = format!("`{}` cannot be followed", text::line(target, 200));
            self.guess(field, "anything", &why, change);
        }
        if is_cut {
            let why = "the whole schema is larger than a contract can hold";
            self.guess(field, "types alone, far from the top", why, change);
        }
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
