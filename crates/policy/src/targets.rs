//! What a call will touch, as its driver tells it before the call is judged.
//!
//! A rule compares these beside what the input names, so that a link, a spelling or a launcher does not
//! lead past it. They can only hold a call back: an allow still needs a field of the input to be about.

pub(crate) mod address;
pub(crate) mod command;
mod inner;
pub(crate) mod launchers;
mod possible;
pub(crate) mod words;

use haft_model::{Digest, Glob};
use serde::Serialize;

pub use command::{CommandLine, ProgramFile};

/// The kinds of targets that rules about a tool compare. Nothing else is worth finding out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TargetKinds {
    /// Whether a rule compares paths.
    pub paths: bool,
    /// Whether a rule compares addresses.
    pub urls: bool,
    /// Whether a rule compares commands.
    pub commands: bool,
}

impl TargetKinds {
    /// Every kind.
    pub const ALL: TargetKinds = TargetKinds { paths: true, urls: true, commands: true };

    /// Whether no rule compares anything.
    pub fn is_empty(self) -> bool {
        self == TargetKinds::default()
    }
}

/// What one call will touch, worked out by the code that will touch it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Targets {
    /// Files and folders.
    pub paths: Vec<PathTarget>,
    /// Addresses, as the driver will ask for them.
    pub urls: Vec<String>,
    /// Commands, as they will be started.
    pub commands: Vec<CommandLine>,
    /// Where the driver's own backend is.
    #[serde(skip_serializing_if = "BackendTargets::is_empty")]
    pub backend: BackendTargets,
}

/// The backend behind a driver, as its manifest has it. It can hold a call back; an allow is about what
/// the call names, and need not be about this.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BackendTargets {
    /// The address of a server.
    pub urls: Vec<String>,
    /// The command of a process that serves many calls.
    pub commands: Vec<CommandLine>,
}

impl BackendTargets {
    fn is_empty(&self) -> bool {
        self.urls.is_empty() && self.commands.is_empty()
    }

    pub(crate) fn url_spellings(&self) -> impl Iterator<Item = Spellings> {
        self.urls.iter().map(|url| address::spellings(url))
    }
}

/// A file or a folder that a call will touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum PathTarget {
    /// Where it is, all links followed: from the workspace's root, or absolute outside of it.
    Resolved(String),
    /// Where it is cannot be found out, so it may be anything.
    Unresolved,
}

impl Targets {
    /// Whether the driver told nothing.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
            && self.urls.is_empty()
            && self.commands.is_empty()
            && self.backend.is_empty()
    }

    /// What stands for all of it, where there is anything.
    pub fn digest(&self) -> Option<Digest> {
        (!self.is_empty()).then(|| Digest::of(self))
    }

    pub(crate) fn path_spellings(&self) -> impl Iterator<Item = Spellings> {
        self.paths.iter().map(|target| match target {
            PathTarget::Resolved(path) => Spellings::of(path.clone()),
            PathTarget::Unresolved => Spellings::unknown(),
        })
    }

    pub(crate) fn url_spellings(&self) -> impl Iterator<Item = Spellings> {
        self.urls.iter().map(|url| address::spellings(url))
    }
}

/// What one thing may be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spellings {
    /// Its proper names. An allow has to fit each of them.
    pub(crate) canonical: Vec<String>,
    /// Names under which somebody might look for it. For a deny or an ask one of all is enough.
    pub(crate) further: Vec<String>,
    /// Whether these are all. What is not known fits every deny and every ask, and no allow.
    pub(crate) known: bool,
}

impl Spellings {
    pub(crate) fn of(name: String) -> Spellings {
        Spellings { canonical: vec![name], further: Vec::new(), known: true }
    }

    pub(crate) fn unknown() -> Spellings {
        Spellings::default()
    }

    /// Whether a pattern that holds back is about it.
    pub(crate) fn is_held(&self, patterns: &[Glob]) -> bool {
        let fits = |name: &String| patterns.iter().any(|glob| glob.matches(name));
        !self.known || self.canonical.iter().any(fits) || self.further.iter().any(fits)
    }

    /// Whether a pattern that lets go is about all of it.
    pub(crate) fn is_let_go(&self, patterns: &[Glob]) -> bool {
        let fits = |name: &String| patterns.iter().any(|glob| glob.matches(name));
        self.known && !self.canonical.is_empty() && self.canonical.iter().all(fits)
    }
}
