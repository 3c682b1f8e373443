//! Targets: the paths, addresses and commands that a driver will touch, for rules to compare.
//!
//! Rules compare them in addition to the input, so that a symlink, a spelling or a launcher does
//! not bypass a rule. INVARIANT: targets only restrict; an allow still needs a matching field of
//! the input.

pub(crate) mod address;
pub(crate) mod command;
mod command_pattern;
mod inner;
pub(crate) mod launchers;
mod possible;
pub(crate) mod words;

use haft_model::{Digest, Glob};
use serde::Serialize;

pub use command::{CommandLine, ProgramFile};
pub(crate) use command_pattern::CommandPattern;

/// Kinds of target that rules about a tool compare; drivers need not compute others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TargetKinds {
    /// A rule compares paths.
    pub paths: bool,
    /// A rule compares addresses.
    pub urls: bool,
    /// A rule compares commands.
    pub commands: bool,
}

impl TargetKinds {
    /// Every kind.
    pub const ALL: TargetKinds = TargetKinds { paths: true, urls: true, commands: true };

    /// Returns true if no rule compares targets.
    pub fn is_empty(self) -> bool {
        self == TargetKinds::default()
    }
}

/// Targets of one call, computed by the code that will use them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Targets {
    /// Files and folders.
    pub paths: Vec<PathTarget>,
    /// Addresses that the driver will request.
    pub urls: Vec<String>,
    /// Commands that the driver will start.
    pub commands: Vec<CommandLine>,
    /// Location of the driver's own backend.
    #[serde(skip_serializing_if = "BackendTargets::is_empty")]
    pub backend: BackendTargets,
}

/// Backend of a driver, from its manifest. A deny or an ask may match it; an allow need not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BackendTargets {
    /// Addresses of a server.
    pub urls: Vec<String>,
    /// Commands of a process that serves many calls.
    pub commands: Vec<CommandLine>,
    /// Paths that every call of the driver may write, whatever its input names.
    pub paths: Vec<WritablePath>,
}

/// A path that a driver's manifest opens for writing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WritablePath {
    /// The path as the manifest states it, such as `~/.config/gh`.
    pub stated: String,
    /// Where it leads.
    pub target: PathTarget,
}

impl WritablePath {
    /// The names that rules match. A folder is open with everything in it, so a rule about all of
    /// its content, such as `keys/*`, matches it too.
    fn spellings(&self) -> Spellings {
        let spelled = self.target.spellings();
        let names = spelled.canonical.iter().chain([&self.stated]);
        let further = names.flat_map(|name| [name.clone(), format!("{name}/")]).collect();
        Spellings { further, ..spelled }
    }
}

impl BackendTargets {
    fn is_empty(&self) -> bool {
        self.urls.is_empty() && self.commands.is_empty() && self.paths.is_empty()
    }

    pub(crate) fn path_spellings(&self) -> impl Iterator<Item = Spellings> {
        self.paths.iter().map(WritablePath::spellings)
    }

    pub(crate) fn url_spellings(&self) -> impl Iterator<Item = Spellings> {
        self.urls.iter().map(|url| address::spellings(url))
    }
}

/// A file or folder that a call will touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum PathTarget {
    /// Real path with symlinks resolved: relative to the workspace root, or absolute outside of it.
    Resolved(String),
    /// The path cannot be resolved, so it may be any.
    Unresolved,
}

impl PathTarget {
    fn spellings(&self) -> Spellings {
        match self {
            PathTarget::Resolved(path) => Spellings::of(path.clone()),
            PathTarget::Unresolved => Spellings::unknown(),
        }
    }
}

impl Targets {
    /// Returns true if the driver gave no targets.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
            && self.urls.is_empty()
            && self.commands.is_empty()
            && self.backend.is_empty()
    }

    /// Digest of all targets; `None` if there are none.
    pub fn digest(&self) -> Option<Digest> {
        (!self.is_empty()).then(|| Digest::of(self))
    }

    pub(crate) fn path_spellings(&self) -> impl Iterator<Item = Spellings> {
        self.paths.iter().map(PathTarget::spellings)
    }

    pub(crate) fn url_spellings(&self) -> impl Iterator<Item = Spellings> {
        self.urls.iter().map(|url| address::spellings(url))
    }
}

/// Names of one target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spellings {
    /// Canonical names; an allow has to match each of them.
    pub(crate) canonical: Vec<String>,
    /// Alternative spellings; a deny or an ask matches if any name does.
    pub(crate) further: Vec<String>,
    /// The names are complete. An unknown target matches every deny and every ask, and no allow.
    pub(crate) known: bool,
}

impl Spellings {
    pub(crate) fn of(name: String) -> Spellings {
        Spellings { canonical: vec![name], further: Vec::new(), known: true }
    }

    pub(crate) fn unknown() -> Spellings {
        Spellings::default()
    }

    /// Returns true if a restricting pattern matches.
    pub(crate) fn is_held(&self, patterns: &[Glob]) -> bool {
        let fits = |name: &String| patterns.iter().any(|glob| glob.matches(name));
        !self.known || self.canonical.iter().any(fits) || self.further.iter().any(fits)
    }

    /// Returns true if an allowing pattern matches every canonical name.
    pub(crate) fn is_let_go(&self, patterns: &[Glob]) -> bool {
        let fits = |name: &String| patterns.iter().any(|glob| glob.matches(name));
        self.known && !self.canonical.is_empty() && self.canonical.iter().all(fits)
    }
}
